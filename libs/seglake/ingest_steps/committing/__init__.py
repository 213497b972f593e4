"""From what tasks report to the commit of a wave."""
