"""The lake's records against those on the disks."""
