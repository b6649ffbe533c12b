"""Pictures of an explanation: SVG, PNG and a page of HTML."""
