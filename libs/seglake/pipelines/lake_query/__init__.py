"""Questions to the tables in Spark SQL, with views for what people ask most."""
