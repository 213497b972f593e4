"""What lies on the disks: listings and the small files beside the segments."""
