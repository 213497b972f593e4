"""What the product depends on: known vulnerabilities, licences, and the SBOM."""
