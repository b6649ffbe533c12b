"""The OpenAPI document: completed fields, errors of each operation, examples."""
