"""What gateway and engine share to be parts of one trace. Only `endpoint` may be imported where nothing is traced."""
