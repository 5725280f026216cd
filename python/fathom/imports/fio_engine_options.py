"""Options that belong to one of fio's engines (`fio --enghelp=ENGINE`): use, what it says, `name/alias=neutral,...`."""

_SUBMITS = "says how fio's engine submits; Fathom submits by io_uring"
_POLLS = "waits for completions in another way, so that latencies are others"
_KERNEL = "asks the kernel for I/O of another kind"

#: Engines that are refused whole, with their options.
_OF_REFUSED_ENGINES = {
    "cpuio": "cpuload cpumode cpuchunks exit_on_io_done",
    "dfs": "pool cont chunk_size object_class svcl",
    "e4defrag": "donorname inplace",
    "exec": "program arguments grace_time std_redirect",
    "http": "https http_host http_user http_pass http_s3_key http_s3_keyid http_swift_auth_token http_s3_region "
    "http_s3_sse_customer_key http_s3_sse_customer_algorithm http_s3_storage_class http_mode http_verbose",
    "libhipfile": "rocm_io",
    "libhdfs": "namenode hdfsdirectory single_instance hdfs_use_direct",
    "libiscsi": "initiator",
    "librpma": "serverip direct_write_to_pmem busy_wait_polling",
    "mtd": "skip_bad",
    "nbd": "uri",
    "net": "hostname port protocol/proto nodelay listen pingpong interface ttl window_size mss netsplice",
    "nfs": "nfs_url",
    "rados, rbd": "clustername rbdname clientname conf busy_poll touch_objects",
    "rdma": "bindname verb",
    "glusterfs": "volume brick",
    "skeleton": "dummy",
    "windowsaio": "no_completion_thread",
    "xnvme": "xnvme_be xnvme_async xnvme_sync xnvme_admin xnvme_dev_nsid xnvme_iovec xnvme_mem",
}

OF_ENGINES: tuple[tuple[str, str, str], ...] = (
    ("applied", "`sqpoll`", "sqthread_poll"),
    ("applied", "passthrough to an NVMe namespace: the target `/dev/ngXnY`", "cmd_type"),
    ("applied", "of the engine sg: reads and writes; other commands are refused", "sg_write_mode"),
    (
        "applied",
        "who submits, for the engine libblkio: its drivers io_uring and nvme-io_uring",
        "libblkio_driver",
    ),
    ("applied", "the target, for the engine libblkio", "libblkio_path"),
    ("applied", "how reads come to the GPU, where it differs", "cuda_io"),
    ("noted", "the GPU is the first that CUDA_VISIBLE_DEVICES shows", "gpu_dev_ids"),
    ("noted", "the GPU is the first that CUDA_VISIBLE_DEVICES shows", "gpu_dev_id=0"),
    *(
        ("noted", _SUBMITS, name)
        for name in (
            *("fixedbufs", "registerfiles", "nonvectored", "force_async", "userspace_reap"),
            *("libblkio_num_entries", "libblkio_queue_size", "libblkio_vectored"),
            "libblkio_force_enable_completion_eventfd",
        )
    ),
    *(
        ("refused", "gives libblkio properties of its own", name)
        for name in ("libblkio_pre_connect_props", "libblkio_pre_start_props")
    ),
    ("refused", "writes zeroes instead of trims", "libblkio_write_zeroes_on_trim=0"),
    ("refused", _POLLS, "libblkio_wait_mode=block,eventfd"),
    ("refused", "makes SCSI commands wait until data are safe (FUA)", "readfua=0"),
    ("refused", "makes SCSI commands wait until data are safe (FUA)", "writefua=0"),
    ("refused", "writes to streams of a SCSI drive", "stream_id"),
    ("noted", "the kernel's thread runs where the kernel puts it", "sqthread_poll_cpu"),
    ("refused", "looks the whole path up, and then calls statx", "stat_type=stat,lstat"),
    ("refused", _POLLS, "hipri=0"),
    ("refused", _POLLS, "hipri_percentage"),
    ("refused", _KERNEL, "uncached=0"),
    ("refused", "backs the mapping of the engine mmap by huge pages", "thp=0"),
    ("refused", _KERNEL, "nowait=0"),
    *(
        ("applied", "`priority_shares`, of the engines libaio and io_uring", name)
        for name in ("cmdprio_percentage", "cmdprio_class", "cmdprio", "cmdprio_bssplit", "cmdprio_hint")
    ),
    *(
        ("refused", f"is of the engine {engine}, which has no counterpart", name)
        for engine, names in _OF_REFUSED_ENGINES.items()
        for name in names.split()
    ),
)
