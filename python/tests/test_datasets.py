"""Datasets of xarray's: variables are arrays of a program by name."""

import numpy as np
import pytest

import ijk

xr = pytest.importorskip("xarray", reason="xarray is not installed")


def dataset():
    random = np.random.default_rng(0)
    return xr.Dataset(
        {
            "t": (("time", "lat"), random.normal(size=(3, 4)), {"units": "K"}),
            "w": ("lat", np.arange(4.0)),
            "unused": ("time", np.zeros(3)),
        },
        coords={"time": [10, 20, 30], "lat": [0.0, 1.0, 2.0, 3.0], "season": ("time", ["a", "b", "c"])},
        attrs={"title": "a test"},
    )


MEANS = ijk.et("mean[time] = t[time,lat] * w[lat]\n\nscaled[time,lat] = t[time,lat] * w[lat]")


def test_results_are_a_dataset():
    ds = dataset()
    found = MEANS(ds)
    assert isinstance(found, xr.Dataset) and list(found.data_vars) == ["mean", "scaled"]
    xr.testing.assert_allclose(found["mean"], (ds.t * ds.w).sum("lat").rename("mean"))
    xr.testing.assert_allclose(found["scaled"], (ds.t * ds.w).rename("scaled"))
    assert set(found.coords) == {"time", "lat", "season"} and not found.attrs
    # Whatever the order of axes.
    xr.testing.assert_allclose(MEANS(ds.transpose("lat", "time"))["mean"], found["mean"])


def test_others_are_given_by_name():
    ds = dataset()
    found = MEANS(ds[["t"]], w=ds.w * 2)
    xr.testing.assert_allclose(found["mean"], 2 * MEANS(ds)["mean"])
    assert isinstance(MEANS(ds[["t"]], w=np.arange(4.0)), xr.Dataset)
    with pytest.raises(TypeError, match="the array `w` is given twice"):
        MEANS(ds, w=ds.w)
    # A coordinate is a variable, too.
    late = ijk.et("y[time] = hours[time] + x[time]")(
        xr.Dataset({"x": ("time", np.ones(3))}, coords={"hours": ("time", [1.0, 2.0, 3.0])})
    )
    assert late["y"].values.tolist() == [2, 3, 4]


def test_variables_by_the_names_of_eintups():
    ds = dataset()
    message = r"the name `time`, which is an eintup: `time\[time\]` is a component"
    with pytest.warns(UserWarning, match="at its own position"):
        late = ijk.et("y[time] = time[time] * unused[time]")
    for arguments in [(ds,), ({"time": ds.time, "unused": ds.unused},), ({"time": np.ones(3), "unused": np.ones(3)},)]:
        with pytest.raises(ijk.Error, match=message):
            late(*arguments)
    # Its positions are no components.
    assert ijk.et("y[time] = time * w[lat]")(ds, dims={"time": 3})["y"].values.tolist() == [0, 6, 12]


def test_extents_and_engines():
    ds = dataset()
    found = ijk.et("y[time] = w[2*time]")(ds, dims={"time": 2}, engine=ijk.Engine(1))
    assert found["y"].values.tolist() == [0, 2]


def test_what_does_not_fit_is_named():
    ds = dataset()
    with pytest.raises(ijk.Error, match=r"the program reads x, but the variables of the Dataset are t, w, unused: rename"):
        ijk.et("y[p] = x[p]")(ds)
    with pytest.raises(ijk.Error, match="`t` has the dimensions time, band"):
        MEANS(ds.rename(lat="band"))
    with pytest.raises(TypeError, match=r"argument 1 is a Dataset of xarray's, which is many arrays: .*ds.map\(program\)"):
        ijk.i("+ij~i")(ds)
    with pytest.raises(TypeError, match="operand 1 is a Dataset"):
        ijk.einsum("ij->i", ds)
    with pytest.raises(TypeError, match="arrays are given by name, in a dict or a Dataset"):
        MEANS([1, 2])
    doubled = ds[["w"]].map(ijk.i("i*2~i"))
    assert doubled["w"].values.tolist() == [0, 2, 4, 6]


def test_chunked_variables_stay_chunked():
    pytest.importorskip("dask", reason="dask is not installed")
    ds = dataset()
    found = MEANS(ds.chunk(time=1))
    assert found["mean"].chunks is not None
    xr.testing.assert_allclose(found.compute(), MEANS(ds))
