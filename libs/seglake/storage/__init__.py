"""One interface for files on local disks, S3 and HDFS."""
