"""The eleven endpoints that people and scripts read: documents and queries."""
