"""One module for each format of data sets. The schema's list of readers follows from this table."""

# Each is called as function(name, entry, threads, stack) and returns a raw data set; `stack` keeps its files open. A
# reader is imported only when it reads, because the Snakefile uses this table.
READERS = {
    "celeba": "toolnoise.datasets.readers.celeba:read",
    "cifar": "toolnoise.datasets.readers.cifar:read",
    "digits": "toolnoise.datasets.readers.digits:read",
    "faces": "toolnoise.datasets.readers.faces:read",
    "image-folder": "toolnoise.datasets.readers.folder:read",
    "imagenet": "toolnoise.datasets.readers.imagenet:read",
    "mnist": "toolnoise.datasets.readers.mnist:read",
    "npy": "toolnoise.datasets.readers.npz:read_folder",
    "npz": "toolnoise.datasets.readers.npz:read",
    "text": "toolnoise.datasets.readers.text:read",
}
