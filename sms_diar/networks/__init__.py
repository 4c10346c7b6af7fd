"""Neural networks: download, storage and inference without torch.

`catalogue` lists the networks and `fetching` downloads their files. `torch_archive` and
`onnx_weights` read the files without executing anything, `conversion` converts the
weights, and `store` keeps them. `campplus`, `resnet34` and `pyannet` run the networks.
`registry` finds networks of other packages. Nothing is downloaded unless
`fetching.fetch` is called.
"""
