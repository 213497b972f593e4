"""Local disks, S3 and HDFS behind one port."""
