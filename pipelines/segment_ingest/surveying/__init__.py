"""One walk over headers, before anything is decoded: what is there, and from where to where."""
