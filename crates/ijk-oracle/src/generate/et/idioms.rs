//! Programs as people write them, with random ranks and extents.

use crate::generate::Rng;

/// A program from the library of operations, or a similar one.
pub(crate) fn idiom(rng: &mut Rng) -> String {
    let text = *rng.pick(&IDIOMS);
    let rank = rng.weighted(&[(5, 1), (4, 2), (2, 3), (1, 0)]);
    let stride = rng.between(1, 3);
    let side = rng.between(2, [9, 9, 5, 3][rank]);
    let tap = rng.between(1, side.min(3));
    text.replace("<r>", &rank.to_string())
        .replace("<stride>", &stride.to_string())
        .replace("<side>", &side.to_string())
        .replace("<tap>", &tap.to_string())
        .replace("<few>", &rng.between(0, 3).to_string())
}

const IDIOMS: [&str; 34] = [
    // Sums of many.
    "left[i,k] = RANDOM(0, 5, FLOAT)
right[k,j] = RANDOM(0, 5, FLOAT)
out[i,j] = left[i,k] * right[k,j]
most[k % 7] =max left[i,k]

DIMS(i) = 23
DIMS(k) = 60
DIMS(j) IN [<side>, 14]
",
    // Products of exponentials, some of them without a common greatest term.
    "left[i,k] = RANDOM(-1, 1, FLOAT)
right[k,j] = RANDOM(-1, 1, FLOAT)
out[i,j] =logaddexp <few> * 150 * left[i,k] + <side> * right[k,j]

DIMS(i) = 24
DIMS(k) = 60
DIMS(j) = 30
",
    // Masks of positions, and elements that a mask chooses.
    "x[row,h] = RANDOM(-5, 5, FLOAT)
sums[row,i] = x[row,h] * LE(h, i)
most[row,i] =max WHERE(LT(h + <few>, i), x[row,h], -INF)
place[row,i] = I64(AND(GT(x[row,h], 0), GE(i, h)))
packed[row,room] = 0 * x[row,room]
packed[row,place[row,i]-1] += x[row,i] * GT(x[row,i], 0)

sums, most, packed

DIMS(row) = 2
DIMS(h) = <side>0
DIMS(i) = DIMS(h)
",
    // Sums of several products.
    "left[i,k] = RANDOM(-5, 5, FLOAT)
right[k,j] = RANDOM(-5, 5, FLOAT)
out[i,j] = left[i,k] * right[k,j] - left[j,k] * right[k,i] + <few> * left[i,k]
same[i,j] = 2 * (left[i,k] - right[k,j] - left[i,k] * right[k,j] + 1)

out, same

DIMS(i) = 1<side>
DIMS(k) = 2<tap>
DIMS(j) = DIMS(i)
",
    // Equality with a position, and conditions along rows.
    "labels[batch] = RANDOM(-3, 40, INT)
hot[batch,class] = WHERE(EQ(labels[batch], class), <few> + 2, 1)
x[batch,class] = RANDOM(-5, 5, FLOAT)
out[batch,class] = x[batch,class] - WHERE(NE(class, labels[batch] + <few>), 0, 2 * x[batch,class])
line[batch,class] = WHERE(EQ(<stride> * batch, class + <few>), x[batch,class], 0)
late[batch,class] = WHERE(LT(<stride> * class, labels[batch]), x[batch,class], -1)

hot, out, line, late

DIMS(batch) = <side>
DIMS(class) = 35
",
    // Maxima and minima of what positions choose.
    "x[row,h] = RANDOM(-5, 5, FLOAT)
most[row,i] =max WHERE(LE(h, i + <few>), x[row,h], <side> - 5)
least[row,i] =min WHERE(GT(h, i), x[row,h], x[row,i])

most, least

DIMS(row) = 2
DIMS(h) = <side>0
DIMS(i) = DIMS(h)
",
    // Accumulations at positions around each.
    "x[pos] = RANDOM(-5, 5, INT)
out[pos] = x[pos] * 2
out[pos] += x[pos - <stride>]
out[pos] += x[pos + <tap>] * <few>

out

DIMS(pos) = 13000
",
    // Valid convolution, linear in the input.
    "input[batch,ipos,ichan] = RANDOM(0, 10, FLOAT)
filters[fpos,ichan,ochan] = RANDOM(0, 1, FLOAT)
output[batch,opos,ochan] = filters[fpos,ichan,ochan] * input[batch,fpos+DIMS(stride)*opos,ichan]

output

RANK(ipos) = <r>
DIMS(stride) = <stride>
DIMS(fpos) = <tap>
DIMS(ipos) = <side>
DIMS(batch) IN [0, 2]
DIMS(ichan) IN [1, 2]
DIMS(ochan) IN [1, 3]
DIMS(opos) = (DIMS(ipos) - DIMS(fpos) + 1) //^ DIMS(stride)
",
    // The same, linear in the filter.
    "input[ipos,ichan] = RANDOM(-5, 10, INT)
filters[fpos,ichan,ochan] = RANDOM(-1, 2, INT)
output[opos,ochan] = filters[ipos-opos,ichan,ochan] * input[ipos,ichan]

RANK(ipos) = <r>
DIMS(fpos) = <tap>
DIMS(ipos) = <side>
DIMS(ichan) = 2
DIMS(ochan) = <few>
DIMS(opos) = DIMS(ipos) - DIMS(fpos) + 1
",
    // Same convolution.
    "input[ipos] = RANDOM(0, 10, FLOAT)
filters[fpos] = RANDOM(0, 1, FLOAT)
output[opos] = filters[fpos] * input[opos + fpos - DIMS(fpos) // 2]

RANK(ipos) = <r>
DIMS(fpos) = <tap>
DIMS(ipos) = <side>
DIMS(opos) = DIMS(ipos)
",
    // Same convolution, strided and dilated.
    "input[ipos] = RANDOM(0, 10, FLOAT)
filters[fpos] = RANDOM(0, 1, FLOAT)
output[opos] = filters[fpos] * input[DIMS(stride)*opos + <stride>*fpos - (DIMS(fpos) - 1) * <stride> // 2]

output

RANK(ipos) = <r>
DIMS(stride) = <stride>
DIMS(fpos) = <tap>
DIMS(ipos) = <side>
DIMS(opos) = DIMS(ipos) //^ DIMS(stride)
",
    // Transposed convolution, both forms.
    "input[ipos] = RANDOM(0, 10, FLOAT)
filters[fpos] = RANDOM(0, 1, FLOAT)
output[ipos * DIMS(stride) + fpos] = filters[fpos] * input[ipos]

RANK(ipos) = <r>
DIMS(stride) = <stride>
DIMS(fpos) = <tap>
DIMS(ipos) = <side>
",
    "input[ipos] = RANDOM(0, 10, INT)
filters[fpos] = RANDOM(0, 3, INT)
output[opos] = filters[opos - ipos * DIMS(stride)] * input[ipos]

RANK(ipos) = <r>
DIMS(stride) = <stride>
DIMS(fpos) = <tap>
DIMS(ipos) = <side>
DIMS(opos) = (DIMS(ipos) - 1) * DIMS(stride) + DIMS(fpos)
",
    // Depthwise convolution.
    "input[ipos,chan] = RANDOM(0, 10, FLOAT)
filters[fpos,chan,mult] = RANDOM(0, 1, FLOAT)
output[opos,chan,mult] = filters[fpos,chan,mult] * input[opos + fpos,chan]

output

RANK(ipos) = <r>
DIMS(fpos) = <tap>
DIMS(ipos) = <side>
DIMS(chan) = 2
DIMS(mult) = <few>
DIMS(opos) = max(0, DIMS(ipos) - DIMS(fpos) + 1)
",
    // Average and maximum of windows.
    "input[ipos] = RANDOM(-10, 10, FLOAT)
count[opos] = 1 + 0 * fpos[c] * input[opos * DIMS(stride) + fpos]
total[opos] = input[opos * DIMS(stride) + fpos]
mean[opos] = total[opos] / count[opos]
most[opos] =max input[opos * DIMS(stride) + fpos]

mean, most

RANK(ipos) = <r>
RANK(fpos) = RANK(ipos)
DIMS(stride) = <stride>
DIMS(fpos) = <tap>
DIMS(ipos) = <side>
DIMS(opos) = DIMS(ipos) //^ DIMS(stride)
",
    // gather_nd.
    "params[elem,other] = RANDOM(0, 10, FLOAT)
indices[slice,coord] = RANDOM(0, DIMS(elem)[coord], INT)
result[slice,other] = params[indices[slice,:],other]

result

RANK(elem) = <r>
DIMS(coord) = RANK(elem)
DIMS(elem) = <side>
DIMS(slice) = <stride>
DIMS(other) IN [0, 3]
",
    // Batched, with some indices beyond the ends.
    "params[batch,elem] = RANDOM(0, 10, INT)
indices[coord,batch,slice] = RANDOM(-1, DIMS(elem)[coord] + 1, INT)
result[slice,batch] = params[batch,indices[:,batch,slice]]

RANK(elem) = <r>
DIMS(elem) = <tap>
DIMS(slice) = <side>
DIMS(batch) = <few>
",
    // scatter_nd with duplicates.
    "updates[slice,other] = RANDOM(0, 10, FLOAT)
indices[slice,coord] = RANDOM(0, DIMS(elem)[coord], INT)
result[elem,other] = 0
result[indices[slice,:],other] += updates[slice,other]

result

RANK(elem) = <r>
DIMS(elem) = <tap>
DIMS(slice) = <side>
DIMS(other) IN [0, 3]
",
    // Scattered to an array that the indices size.
    "updates[slice] = RANDOM(0, 10, INT)
indices[slice,coord] = RANDOM(0, 4, INT)
result[indices[slice,:]] = updates[slice]

DIMS(coord) = <r>
DIMS(slice) = <side>
",
    // space_to_depth and back.
    "input[pos,chan] = RANDOM(0, 10, FLOAT)
output[pos // <stride>, FLAT(pos % <stride>, chan)] = input[pos,chan]
back[pos,chan] = output[pos // <stride>, FLAT(pos % <stride>, chan)]

output, back

RANK(pos) = <r>
DIMS(pos) = <side>
DIMS(chan) IN [1, 2]
",
    // One-hot.
    "labels[batch] = RANDOM(-1, 5, INT)
hot[batch,class] = EQ(labels[batch], class)
also[batch,labels[batch]] = 1

DIMS(batch) = <side>
DIMS(class) = 4
",
    // Cumulative sums.
    "x[pos] = RANDOM(0, 10, INT)
below[pos,before] = WHERE(LE(before, pos), x[before], 0)
sums[pos] = below[pos,before]
same[pos + after] = x[pos]

sums

DIMS(pos) = <side>
DIMS(after) = <side>
",
    // Attention.
    "query[batch,q,c] = RANDOM(-1, 1, FLOAT)
key[batch,t,c] = RANDOM(-1, 1, FLOAT)
val[batch,t,d] = RANDOM(-1, 1, FLOAT)
score[batch,q,t] = query[batch,q,c] * key[batch,t,c] / SQRT(DIMS(c)[e])
most[batch,q] =max score[batch,q,t]
ex[batch,q,t] = EXP(score[batch,q,t] - most[batch,q])
total[batch,q] = ex[batch,q,t]
out[batch,q,d] = ex[batch,q,t] * val[batch,t,d] / total[batch,q]

out

DIMS(batch) IN [0, 2]
DIMS(q) = <tap>
DIMS(t) = <side>
DIMS(c) = 3
DIMS(d) = 2
",
    // Matrix products with any batch rank.
    "left[batch,i,k] = RANDOM(0, 5, INT)
right[batch,k,j] = RANDOM(0, 5, INT)
out[batch,i,j] = left[batch,i,k] * right[batch,k,j]

RANK(batch) = <r>
DIMS(batch) IN [1, 2]
DIMS(i) = <side>
DIMS(k) = <few>
DIMS(j) IN [1, 3]
",
    // The Cartesian product of shared shapes.
    "mat[a] = RANDOM(0, 10, FLOAT)
res[a,b] = mat[a] * mat[b]

RANK(a) = <r>
DIMS(a) = <tap>
",
    // Reversed, sliced, tiled, flattened.
    "x[pos] = RANDOM(0, 10, INT)
reversed[DIMS(pos) - 1 - pos] = x[pos]
part[piece] = x[piece + 1]
tiled[long] = x[long % DIMS(pos)]
flat[FLAT(pos)] = x[pos]

RANK(pos) = <r>
DIMS(pos) = <side>
DIMS(piece) = max(0, DIMS(pos) - 2)
DIMS(long) = DIMS(pos) + <stride>
",
    // meshgrid.
    "x[i] = RANDOM(0, 10, FLOAT)
y[j] = RANDOM(0, 10, FLOAT)
first[i,j] = x[i]
second[i,j] = y[j]
where[i,j] = i * 10 + j

DIMS(i) = <side>
DIMS(j) = <few>
",
    // Normalisation.
    "x[batch,chan] = RANDOM(-3, 3, FLOAT)
mean[chan] = x[batch,chan] / DIMS(batch)[c]
dev[batch,chan] = x[batch,chan] - mean[chan]
var[chan] = dev[batch,chan] * dev[batch,chan] / DIMS(batch)[c]
out[batch,chan] = dev[batch,chan] / SQRT(var[chan] + 0.001)

out

DIMS(batch) = <side>
DIMS(chan) IN [0, 4]
",
    // Bilinear interpolation to twice the size.
    "image[pos] = RANDOM(0, 10, FLOAT)
out[fine] = image[fine // 2] * 0.5
out[fine] += image[(fine + 1) // 2] * 0.5

out

DIMS(pos) = <side>
DIMS(fine) = DIMS(pos) * 2
",
    // Extents without constraints.
    "x[a] = RANDOM(-5, 5, INT)
y[b] = x[b + 1]
total[] += x[a]
",
    // Ranks determined by the bounds rule and three common expressions.
    "x[pos] = RANDOM(0, 9, INT)
y[wide + DIMS(pos)] = x[wide]
z[wide + side] = 1
part[half] = x[half]

RANK(pos) = <r>
DIMS(pos) = <tap>
DIMS(side) = 2
DIMS(half) = DIMS(low) + 1
DIMS(low) = 1
",
    // Pointer jumping: indices read the previous version.
    "next[a] = RANDOM(0, <side>, INT)
next[a] = next[next[a]]
next[next[a]] += a

DIMS(a) = <side>
",
    // Sums of all elements up to each position, and from each on.
    "x[row,pos] = RANDOM(-5, 6, INT)
sums[row,pos] = x[row,pos-back]
most[row,pos] =max x[row,pos+fore]
late[row,pos] = sums[row,pos-back-1] * <stride>

RANK(pos) = <r>
DIMS(row) IN [1, 3]
DIMS(pos) = <side>
DIMS(back) = DIMS(pos)
DIMS(fore) = DIMS(pos) + <few>
",
    // Mostly out of bounds: too many values of each axis for the lowering to cut them off one by one.
    "x[a] = RANDOM(0, 9, INT)
y[b] = x[b + c - 1<tap>]
z[b,c] += x[b - <stride> * c + <side>]

DIMS(a) = 20
DIMS(b) = 40
DIMS(c) = 16
",
];
