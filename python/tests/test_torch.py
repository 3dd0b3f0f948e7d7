"""Tensors of PyTorch: in and out, and those that are refused."""

import numpy as np
import pytest

import ijk

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

product, transpose = ijk.i("+(ik*kj)~ij"), ijk.i("ij~ji")
TYPES = [torch.bool, torch.int32, torch.int64, torch.float32, torch.float64, torch.complex64, torch.complex128]


def tensor(*shape, dtype=torch.float32, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(-3, 4, shape)).to(dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_tensors_give_tensors(dtype):
    a, b = tensor(3, 4, dtype=dtype), tensor(4, 5, dtype=dtype)
    want = np.einsum("ij,jk->ik", a.numpy(), b.numpy())
    for result in (
        ijk.einsum("ij,jk->ik", a, b),
        ijk.einsum(a, [0, 1], b, [1, 2]),
        ijk.tensordot(a, b, 1),
        product(a, b),
        ijk.et("y[i,j] = x[i,k] * z[k,j]")(x=a, z=b)["y"],
    ):
        assert type(result) is torch.Tensor and result.dtype == dtype
        assert np.array_equal(result.numpy(), want)
    assert torch.equal(ijk.transpose(a), a.T)
    assert ijk.einsum_path("ij,jk->ik", a, b)[0] == ["einsum_path", (0, 1)]


def test_opt_einsum_hands_tensors_on():
    opt_einsum = pytest.importorskip("opt_einsum", reason="opt_einsum is not installed")
    a, b, c = tensor(3, 4), tensor(4, 5, seed=1), tensor(5, 3, seed=2)
    for subscripts in ("ij,jk,ki->", "ij,jk,kl->il", "ij,jk,kl->li"):
        result = opt_einsum.contract(subscripts, a, b, c, backend="ijk")
        assert isinstance(result, torch.Tensor) and torch.allclose(result, torch.einsum(subscripts, a, b, c))


def test_results_without_axes_several_results_and_views():
    a = tensor(3, 3)
    total = ijk.einsum("ij,ij->", a, a)
    assert isinstance(total, torch.Tensor) and total.shape == () and total == (a * a).sum()
    rows, greatest = (ijk.i("+ij~i") & ijk.i(">ij~j"))(a)
    assert torch.equal(rows, a.sum(1)) and torch.equal(greatest, a.amax(0))
    diagonal = ijk.einsum("ii->i", a)
    diagonal += 10
    assert torch.equal(diagonal, torch.diagonal(a)), "as torch.einsum's, the view shares its memory"


def test_plain_numbers_take_the_type_of_tensors():
    scale = ijk.i("ij*.~ij")
    for dtype in (torch.float16, torch.float32, torch.float64, torch.complex64):
        x = tensor(3, 4, dtype=dtype)
        for number in (2, 2.5):
            result = scale(x, number)
            assert result.dtype == dtype and torch.equal(result, x * number)
    x = tensor(3, 4, dtype=torch.int32)
    assert scale(x, 2).dtype == torch.int32 and torch.equal(ijk.i(".*ij~ij")(2, x), 2 * x)
    clamped = ijk.i("@where(ij,ij,.)~ij")(x > 0, x, 0)
    assert torch.equal(clamped, x.clamp(min=0))
    both = ijk.i("ij*.~ij . ij+.~ij")(tensor(3, 4), 2, 0.5)
    assert both.dtype == torch.float32 and torch.equal(both, tensor(3, 4) * 2 + 0.5)
    out = torch.empty(3, 4)
    assert scale(tensor(3, 4), 3, out=out) is out and torch.equal(out, tensor(3, 4) * 3)
    with pytest.raises(TypeError, match="argument 2 is the number 2.5, but the other arguments are int32"):
        scale(x, 2.5)
    with pytest.raises(OverflowError, match="argument 2 is the number 300, but the other arguments are uint8"):
        scale(tensor(3, 4, dtype=torch.uint8), 300)


def test_plain_numbers_take_the_type_of_bfloat16():
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    x = tensor(3, 4, dtype=torch.bfloat16)
    result = ijk.i("ij*.~ij")(x, 2.5)
    assert result.dtype == torch.bfloat16 and torch.equal(result, x * 2.5)


def test_arrays_of_numpys_take_part():
    a = tensor(3, 4)
    result = ijk.einsum("ij,kj->ik", a, np.ones((2, 4), "f4"))
    assert isinstance(result, torch.Tensor) and torch.equal(result, a @ torch.ones(4, 2))
    assert isinstance(ijk.i("i+j~ij")([1.0], tensor(2, dtype=torch.float64)), torch.Tensor)
    read_only = np.eye(4, dtype="f4")
    read_only.flags.writeable = False
    assert torch.equal(ijk.einsum("ij,jk->ik", a, read_only), a)


def test_types_meet_as_numpys_do():
    a, b = tensor(3, 4, dtype=torch.int64), tensor(4, 5)
    assert ijk.einsum("ij,jk->ik", a, b).dtype == torch.float64
    assert ijk.einsum("ij,jk->ik", b.T, b.T.T, dtype=torch.float64).dtype == torch.float64
    with pytest.raises(ijk.DTypeError, match="float8_e4m3fn"):
        ijk.einsum("ij,jk->ik", a, b, dtype=torch.float8_e4m3fn)


def test_half_precision():
    a, b = tensor(8, 9, dtype=torch.bfloat16), tensor(9, 5, dtype=torch.bfloat16)
    result = ijk.einsum("ij,jk->ik", a, b)
    assert result.dtype == torch.bfloat16 and torch.equal(result, (a.float() @ b.float()).to(torch.bfloat16))
    assert ijk.einsum("ij,jk->ik", a, b.float()).dtype == torch.float32
    assert ijk.einsum("ij,jk->ik", a, b.to(torch.int64)).dtype == torch.bfloat16
    assert ijk.einsum("ij,jk->ik", a, b, dtype=torch.float32).dtype == torch.float32
    assert ijk.einsum("ij,jk->ik", a.float(), b, dtype=torch.bfloat16).dtype == torch.bfloat16
    assert ijk.einsum("ij,jk->ik", a.half(), b.half()).dtype == torch.float16
    out = torch.empty(8, 5, dtype=torch.bfloat16)
    assert ijk.einsum("ij,jk->ik", a, b, out=out) is out and torch.equal(out, result)
    with pytest.raises(ijk.DTypeError, match="does not become torch.bfloat16.*casting='same_kind'"):
        ijk.einsum("ij,jk->ik", a.float(), b.float(), out=out)
    ijk.einsum("ij,jk->ik", a.float(), b.float(), out=out, casting="same_kind")
    with pytest.raises(ijk.Error, match=r"out has the shape \(5, 8\), but the result \(8, 5\)"):
        ijk.einsum("ij,jk->ik", a, b, out=out.T)
    with pytest.raises(ijk.DTypeError, match="argument 1 is f32 but argument 2 is bf16"):
        product(a.float(), b)


def test_out_is_written_in_place():
    a, b = tensor(3, 4), tensor(4, 5)
    whole = torch.zeros(5, 6)
    out = whole[:, 1:4].T
    assert ijk.einsum("ij,jk->ik", a, b, out=out) is out
    assert torch.equal(whole[:, 1:4].T, a @ b) and whole[:, 0].sum() == 0
    assert product(a, b, out=out.zero_()) is out and torch.equal(whole[:, 1:4].T, a @ b)
    outs = torch.zeros(3), torch.zeros(4)
    both = ijk.i("+ij~i") & ijk.i("+ij~j")
    assert both(a, out=outs) is outs and torch.equal(outs[1], a.sum(0))
    square = tensor(4, 4)
    want = square @ square
    ijk.einsum("ij,jk->ik", square, square, out=square)
    assert torch.equal(square, want)


def test_outs_of_another_library_or_device():
    a, x = tensor(3, 3), np.eye(3, dtype="f4")
    for out, arguments, says in (
        (np.zeros((3, 3), "f4"), (a, a), "out is a NumPy array, but operand 1 is a tensor of PyTorch's"),
        (torch.zeros(3, 3), (x, x), "out is a tensor of PyTorch's, but the arguments are NumPy arrays"),
        (torch.zeros(3, 3, device="meta"), (a, a), "out is on the device meta"),
        (torch.zeros(3, 3).to_sparse(), (a, a), "out is a tensor of layout torch.sparse_coo"),
        (torch.zeros(3, 3, dtype=torch.complex64).conj(), (a, a), "out is a conjugated view"),
        (torch.zeros(3, 3, requires_grad=True), (a, a), "out requires gradients"),
        ([[0.0] * 3] * 3, (a, a), "out is of <class 'list'>, but operand 1 is a tensor"),
    ):
        with pytest.raises(TypeError, match=says):
            ijk.einsum("ij,jk->ik", *arguments, out=out)
    with pytest.raises(TypeError, match="out is a NumPy array, but argument 1 is a tensor"):
        transpose(a, out=np.zeros((3, 3), "f4"))
    with pytest.raises(ValueError, match="elements of out share memory"):
        ijk.einsum("ij,jk->ik", a, a, out=torch.zeros(1, 3).expand(3, 3))
    with pytest.raises(ijk.DTypeError, match="the result is of float64, which does not become int32"):
        ijk.einsum("ij,jk->ik", a, a, out=torch.zeros(3, 3, dtype=torch.int32))


def test_gradients_are_not_lost_without_a_word():
    a = tensor(3, 3).requires_grad_()
    for call in (
        lambda: ijk.einsum("ij,jk->ik", a, a),
        lambda: transpose(a),
        lambda: ijk.et("y[i,j] = x[j,i]")(x=a),
    ):
        with pytest.raises(TypeError, match=r"requires gradients.*x.detach\(\)"):
            call()
        with torch.no_grad():
            call()
    with torch.no_grad():
        assert torch.equal(transpose(a), a.T) and not transpose(a).requires_grad
    assert torch.equal(transpose(torch.nn.Parameter(tensor(2, 2)).detach()), tensor(2, 2).T)


def test_conjugated_and_negated_views():
    a = tensor(3, 4, dtype=torch.complex64) * (1 + 2j)
    assert a.conj().is_conj() and a.conj().imag.is_neg()
    assert torch.equal(transpose(a.conj()), a.conj().T.resolve_conj())
    assert torch.equal(transpose(a.conj().imag), -a.imag.T)
    assert torch.equal(ijk.einsum("ij,kj->ik", a.conj(), a), a.conj() @ a.T)


def test_tensors_without_memory_are_refused_by_name():
    a = tensor(3, 3)
    for other, says in (
        (torch.zeros(3, 3, device="meta"), "operand 2 is on the device meta"),
        (a.to_sparse(), r"operand 2 is a tensor of layout torch.sparse_coo: pass x.to_dense\(\)"),
        (torch.quantize_per_tensor(a, 0.1, 0, torch.qint8), r"operand 2 is a quantized tensor"),
        (torch.nested.nested_tensor([a, a[:2]]), "operand 2 is a nested tensor"),
        (a.to(torch.float8_e5m2), "operand 2 is of torch.float8_e5m2, but ijk computes"),
    ):
        with pytest.raises(TypeError, match=says):
            ijk.einsum("ij,jk->ik", a, other)
    with pytest.raises(TypeError, match="operand 1 is a masked tensor"):
        ijk.einsum("ij->ji", torch.masked.masked_tensor(a, a > 0))
    with pytest.raises(TypeError, match="no memory that could be read"):
        torch.func.vmap(lambda row: ijk.einsum("i,i->", row, row))(a)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_tensors_of_other_devices():
    a = tensor(3, 3).cuda()
    with pytest.raises(TypeError, match=r"operand 1 is on the device cuda:0.*x.cpu\(\)"):
        ijk.einsum("ij,jk->ik", a, a)
    with pytest.raises(TypeError, match="out is on the device cuda:0"):
        ijk.einsum("ij,jk->ik", a.cpu(), a.cpu(), out=a)
