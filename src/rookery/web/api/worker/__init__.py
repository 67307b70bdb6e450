"""The nine endpoints that workers call: thin routes from the wire to the fleet and back."""
