"""Neural networks as data: where they come from, where they lie, how they compute.

`catalogue` lists them, `fetching` gets their files, `torch_archive` and `onnx_weights`
read those without running anything, `campplus_weights` and `pyannet_weights` convert
them, `store` keeps the result, `campplus` and `pyannet` compute. `registry` finds
networks of other packages. Nothing here needs torch, and nothing is downloaded unless
`fetching.fetch` is called.
"""
