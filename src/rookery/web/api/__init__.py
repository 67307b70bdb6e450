"""What programs ask: probes, metrics, the description of the JSON routes."""
