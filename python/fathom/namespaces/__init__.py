"""Namespaces of NVMe drives: listed, split into equal ones for tenants, and put back as they were."""
