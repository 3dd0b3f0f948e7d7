"""DataArrays of xarray's, by the names of their dimensions, and dask arrays."""

import numpy as np
import pytest

import ijk

xr = pytest.importorskip("xarray", reason="xarray is not installed")


def da(*dims, seed=0, name=None, coords=True, **extents):
    sizes = {"time": 3, "lat": 4, "lon": 5, "band": 2, **extents}
    random = np.random.default_rng(seed)
    data = random.integers(-3, 4, [sizes[dim] for dim in dims]).astype("f8")
    labels = {dim: np.arange(sizes[dim]) * 10.0 for dim in dims} if coords else None
    return xr.DataArray(data, coords=labels, dims=dims, name=name)


def same(result, expected):
    xr.testing.assert_identical(result.drop_attrs(), expected.drop_attrs())
    assert result.dims == expected.dims


def test_einsums_have_the_dimensions_of_their_letters():
    a, b = da("time", "lat", name="a"), da("lat", "lon", seed=1, name="b")
    same(ijk.einsum("ij,jk->ik", a, b), xr.dot(a, b).rename(None))
    same(ijk.einsum("ij,jk->ki", a, b), xr.dot(a, b).transpose("lon", "time").rename(None))
    same(ijk.einsum(a, [0, 1], b, [1, 2]), xr.dot(a, b).rename(None))
    same(ijk.einsum("ij->j", a), a.sum("time"))
    same(ijk.einsum("ij->", a), a.sum())
    same(ijk.einsum("ij,ij->ij", a, a), a * a)
    same(ijk.tensordot(a, b, 1), xr.dot(a, b).rename(None))
    same(ijk.einsum("ij->ji", a), a.T)
    assert np.array_equal(ijk.einsum("...ij,jk->...ik", a, b), xr.dot(a, b))
    one = da("time", "lat", time=1)
    same(ijk.einsum("ij,jk->ik", one, b), xr.dot(one, b).rename(None))
    same(ijk.einsum("...j,jk->...k", one, b), xr.dot(one, b).rename(None))
    beside = ijk.einsum("ij,jk->ik", a, b.data)
    assert beside.dims == ("time", "dim_1") and list(beside.coords) == ["time"]


def test_programs_in_i_tie_letters_to_dimensions():
    a, b = da("time", "lat"), da("lat", "lon", seed=1)
    for product in (ijk.i("+(ik*kj)~ij"), ijk.i("ik*kj~ijk . +ijk~ij"), ijk.i("ik*kj~ijk") >> ijk.i("+ijk~ij")):
        same(product(a, b), xr.dot(a, b))
    softmax = ijk.i("(I & >ij~i) . ^(ij-i)~ij . (I & +ij~i) . ij/i~ij")
    exp = np.exp(a - a.max("lat"))
    xr.testing.assert_allclose(softmax(a), exp / exp.sum("lat"))
    assert softmax(a).dims == a.dims and set(softmax(a).coords) == {"time", "lat"}
    rows, columns = (ijk.i("+ij~i") & ijk.i("+ij~j"))(a)
    same(rows, a.sum("lat"))
    same(columns, a.sum("time"))
    same(ijk.i("I")(a), a)
    same(ijk.i("ij+j~ij")(a, a[0].drop_vars("time")), a + a[0].drop_vars("time"))
    means = ijk.i("[i+k{2}]~ik . +ik~i")(a[:, 0])
    assert means.dims == ("i",) and means.shape == (2,)
    steps = ijk.i("i-[i+1]~i")(a[:2, 0], a[:, 0])
    assert steps.dims == ("time",) and steps.time.data.tolist() == [0, 10]
    every_other = ijk.et("y[time] = x[2*time,lat]")(x=a, dims={"time": [2]})["y"]
    assert every_other.dims == ("time",) and every_other.shape == (2,) and not every_other.coords


def test_programs_in_einsum_tuple_go_by_names():
    a, b = da("time", "lat"), da("lat", "lon", seed=1)
    product = ijk.et("y[time,lon] = x[time,lat] * z[lat,lon]")
    for x in (a, a.T):
        for z in (b, b.T):
            same(product(x=x, z=z)["y"], xr.dot(a, b))
    other = ijk.et("y[i,k] = x[i,j] * z[j,k]\nn[j] = x[i,j]\ntwice[2*i] = x[i,j]")(x=a, z=b)
    same(other["y"], xr.dot(a, b))
    same(other["n"], a.sum("time"))
    assert other["twice"].dims == ("dim_0",)
    with pytest.raises(ijk.Error, match="`x` has the dimensions time, band, but the program indexes it by time, lat"):
        product(x=da("time", "band"), z=b)
    ranks = ijk.et("y[a] = x[a,b]")(x=da("time", "lat", "lon"), ranks={"a": 2})
    assert ranks["y"].shape == (3, 4)


def test_coordinates():
    a = da("time", "lat").assign_coords(
        season=("time", ["a", "b", "c"]), area=(("time", "lat"), np.ones((3, 4))), run=7, height=("lat", np.arange(4.0))
    )
    b = da("lat", "lon").assign_coords(run=7, height=("lat", np.arange(4.0)))
    result = ijk.einsum("ij,jk->ik", a, b)
    assert set(result.coords) == {"time", "lon", "season", "run"}
    assert set(ijk.einsum("ij,jk->ij", a, b).coords) == {"time", "lat", "season", "area", "run", "height"}
    assert "run" not in ijk.einsum("ij,jk->ik", a, b.assign_coords(run=8)).coords
    stacked = da("time", "lat").stack(point=("time", "lat"))
    assert ijk.i("i*2~i")(stacked).indexes["point"].equals(stacked.indexes["point"])
    plain = da("time", "lat", coords=False)
    assert not ijk.einsum("ij->ji", plain).coords
    with pytest.raises(ijk.Error, match="the coordinates along 'lat' of operand 2 are not those of operand 1.*align"):
        ijk.einsum("ij,jk->ik", a, b.assign_coords(lat=b.lat + 1))
    assert set(ijk.einsum("ij,jk->ik", a, b.drop_vars(["lat", "height"])).coords) == {"time", "lon", "season", "run"}


def test_names_that_do_not_fit():
    a, b = da("time", "lat"), da("lat", "lon")
    with pytest.raises(ijk.Error, match="one index runs along axis 1 of operand 1, which is the dimension 'lat'.*'lon'.*rename"):
        ijk.einsum("ij,jk->ik", a, b.transpose("lon", "lat").isel(lon=slice(0, 4)))
    with pytest.raises(ijk.Error, match="axis 1 of argument 1.*'lat', and along axis 0 of argument 2, which is 'band'"):
        ijk.i("+(ik*kj)~ij")(a, da("band", "lon", band=4))
    with pytest.raises(ijk.Error, match="the result has the dimension 'time' twice"):
        ijk.einsum("ij,kj->ik", a, a)
    square = ijk.einsum("ij,kj->ik", a, a.rename(time="other"))
    assert square.dims == ("time", "other")
    with pytest.raises(TypeError, match="leave out= away"):
        ijk.einsum("ij->ji", a, out=da("lat", "time"))
    with pytest.raises(TypeError, match="out is a NumPy array, but argument 1 is a DataArray"):
        ijk.i("ij~ji")(a, out=np.empty((4, 3)))
    with pytest.raises(ijk.Error, match="letter `k` is 4"):
        ijk.i("+(ik*kj)~ij")(a, da("lat", "lon", lat=6))


def test_apply_ufunc():
    pytest.importorskip("dask", reason="dask is not installed")
    a = da("time", "lat", "lon")
    chunked = a.chunk(time=2, lon=3)
    total = ijk.i("+ijk~ij")
    result = xr.apply_ufunc(
        total, chunked.chunk(lon=-1), input_core_dims=[["lon"]], dask="parallelized", output_dtypes=["f8"]
    )
    assert result.chunks is not None
    same(result.compute(), a.sum("lon"))
    same(xr.apply_ufunc(total, a, input_core_dims=[["lon"]]), a.sum("lon"))
    doubled = xr.apply_ufunc(ijk.i("ijk*2~ijk"), chunked, dask="parallelized", output_dtypes=["f8"])
    same(doubled.compute(), a * 2)
    result = xr.apply_ufunc(
        ijk.i("ijk*2~ijk"), chunked, dask="parallelized", output_dtypes=["f8"]
    ).compute(scheduler="processes", num_workers=2)
    same(result, a * 2)


def test_dask_arrays_give_dask_arrays():
    dask_array = pytest.importorskip("dask.array", reason="dask is not installed")
    a, b = np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(4, 5)
    x, y = dask_array.from_array(a, chunks=2), dask_array.from_array(b, chunks=3)
    product = ijk.i("+(ik*kj)~ij")
    for result in (
        ijk.einsum("ij,jk->ik", x, y),
        ijk.einsum("ij,jk->ik", a, y),
        product(x, y),
        ijk.tensordot(x, y, 1),
        ijk.et("y[i,j] = x[i,k] * z[k,j]")(x=x, z=y)["y"],
    ):
        assert isinstance(result, dask_array.Array) and result.shape == (3, 5) and result.dtype == "f8"
        assert np.array_equal(result.compute(), a @ b)
        assert np.array_equal((result + 1).sum().compute(scheduler="synchronous"), (a @ b + 1).sum())
    rows, largest = (ijk.i("+ij~i") & ijk.i("@argmax ij~i"))(x)
    assert largest.dtype == "i8" and np.array_equal(rows.compute(), a.sum(1)) and rows.shape == (3,)
    calls = []
    lazy = dask_array.from_delayed(__import__("dask").delayed(lambda: calls.append(1) or a)(), a.shape, a.dtype)
    result = product(lazy, b)
    assert not calls and np.array_equal(result.compute(), a @ b) and calls
    with pytest.raises(ijk.Error, match="letter `k`"):
        product(x, x)
    with pytest.raises(ijk.Error):
        ijk.einsum("ij,jk->ik", x, x)
    with pytest.raises(TypeError, match="leave out= away"):
        ijk.einsum("ij,jk->ik", x, y, out=dask_array.zeros((3, 5)))
    some = x[x[:, 0] > 0]
    with pytest.raises(TypeError, match=r"argument 1 has a shape that is not known: call x.compute_chunk_sizes"):
        product(some, y)
    assert product(some.compute_chunk_sizes(), y).shape == (2, 5)
    assert np.array_equal(product(x, b.tolist()).compute(), a @ b)
    chunked = xr.DataArray(x, dims=("time", "lat"), coords={"lat": [1, 2, 3, 4]})
    named = ijk.einsum("ij->j", chunked)
    assert named.chunks is not None and named.dims == ("lat",)
    assert np.array_equal(named.compute().data, a.sum(0)) and named.lat.values.tolist() == [1, 2, 3, 4]


def test_block_tensors_of_data_arrays():
    pytest.importorskip("dask", reason="dask is not installed")
    a = da("time", "lat")
    chunked = ijk.BigTensor(a.chunk(time=2))
    assert chunked.blocks == (2, None) and np.array_equal(chunked.collect(), a)
    assert np.array_equal(ijk.BigTensor(a, [2, None]).collect(), a)
    with pytest.raises(TypeError, match="a DataArray|DataArray"):
        ijk.i("ij+ij~ij")(a, np.zeros((3, 4)), out=a)
