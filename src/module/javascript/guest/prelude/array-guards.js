/**
 * Methods of arrays: each looks at the length first. Each guard is written out, not made by a
 * factory: functions from one factory share their type feedback, and all of them would be slow.
 */
import {
  apply,
  get,
  isArray,
  iteratorKey,
  NativeProxy,
  replace,
  spreadableKey,
} from './intrinsics.js';
import { arrays, bounded, copyOf, isList, pinned, present, tooLong, toText } from './measures.js';

const { copyWithin, every, fill, filter, find, findIndex, findLast, findLastIndex } = arrays;
const { flat, flatMap, forEach, includes, indexOf, join } = arrays;
const { concat, lastIndexOf, map, reduce, reduceRight, reverse, shift, slice, some, sort } = arrays;
const { splice, unshift, toLocaleString, toReversed, toSorted, toSpliced } = arrays;
const arrayWith = arrays.with;
const NativeArray = Array;
const nativeFrom = Array.from;

// Such methods return the list that they were called on.
const returned = (result, list, self) => (result === list ? self : result);

replace(arrays, {
  concat(...parts) {
    const first = spreadable(this);
    let length = isArray(first) ? first.length : 1;
    for (let index = 0; index < parts.length; index += 1) {
      const part = (parts[index] = spreadable(parts[index]));
      if (isArray(part)) length += part.length;
      if (length > elementCountMax) tooLong();
    }
    if (length > elementCountMax) tooLong();
    return concat.apply(first, parts);
  },
  copyWithin(to, start, end) {
    const list = bounded(this);
    return returned(copyWithin.call(list, to, start, end), list, this);
  },
  every(callback, self) {
    if (!isArray(this)) return every.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return every.call(this, callback, self);
  },
  fill(value, start, end) {
    const list = bounded(this);
    return returned(fill.call(list, value, start, end), list, this);
  },
  filter(callback, self) {
    if (!isArray(this)) return filter.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return filter.call(this, callback, self);
  },
  find(callback, self) {
    if (!isArray(this)) return find.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return find.call(this, callback, self);
  },
  findIndex(callback, self) {
    if (!isArray(this)) return findIndex.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return findIndex.call(this, callback, self);
  },
  findLast(callback, self) {
    if (!isArray(this)) return findLast.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return findLast.call(this, callback, self);
  },
  findLastIndex(callback, self) {
    if (!isArray(this)) return findLastIndex.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return findLastIndex.call(this, callback, self);
  },
  flat(depth) {
    const list = bounded(this);
    const levels = depth === undefined ? 1 : +depth;
    if (isArray(list)) countFlat(list, levels, 0);
    return flat.call(list, levels);
  },
  flatMap(callback, self) {
    if (!isArray(this)) return flatMap.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return flatMap.call(this, callback, self);
  },
  forEach(callback, self) {
    if (!isArray(this)) return forEach.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return forEach.call(this, callback, self);
  },
  includes(value, start) {
    return includes.call(bounded(this), value, start);
  },
  indexOf(value, start) {
    return indexOf.call(bounded(this), value, start);
  },
  join(separator) {
    return join.call(bounded(this), separator);
  },
  lastIndexOf(...values) {
    return lastIndexOf.apply(bounded(this), values);
  },
  map(callback, self) {
    if (!isArray(this)) return map.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return map.call(this, callback, self);
  },
  reduce(callback, ...initial) {
    if (!isArray(this)) return reduce.call(bounded(this), callback, ...initial);
    if (this.length > elementCountMax) tooLong();
    if (initial.length === 0) return reduce.call(this, callback);
    return reduce.call(this, callback, initial[0]);
  },
  reduceRight(callback, ...initial) {
    if (!isArray(this)) return reduceRight.call(bounded(this), callback, ...initial);
    if (this.length > elementCountMax) tooLong();
    if (initial.length === 0) return reduceRight.call(this, callback);
    return reduceRight.call(this, callback, initial[0]);
  },
  reverse() {
    const list = bounded(this);
    return returned(reverse.call(list), list, this);
  },
  shift() {
    return shift.call(bounded(this));
  },
  slice(start, end) {
    return slice.call(isArray(this) ? bounded(this) : copyOf(present(this)), start, end);
  },
  some(callback, self) {
    if (!isArray(this)) return some.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return some.call(this, callback, self);
  },
  sort(compare) {
    const list = bounded(this);
    return returned(sort.call(list, interruptible(compare, list)), list, this);
  },
  splice(...values) {
    return splice.apply(bounded(this), values);
  },
  toLocaleString(...values) {
    return toLocaleString.apply(bounded(this), values);
  },
  toReversed() {
    return toReversed.call(bounded(this));
  },
  toSorted(compare) {
    const list = bounded(this);
    return toSorted.call(list, interruptible(compare, list));
  },
  toSpliced(...values) {
    return toSpliced.apply(bounded(this), values);
  },
  unshift(...values) {
    return unshift.apply(bounded(this), values);
  },
  with(index, value) {
    return arrayWith.call(bounded(this), index, value);
  },
});

// Sorting is interrupted where it calls a function of the realm. By text, of millions, it takes
// minutes.
function interruptible(compare, list) {
  if (list === undefined || list === null || !(list.length > slowCountMax)) return compare;
  if (typeof compare === 'function') return (a, b) => compare(a, b);
  return compare === undefined ? compareTexts : compare;
}

function compareTexts(a, b) {
  const first = toText(a);
  const second = toText(b);
  return first < second ? -1 : first > second ? 1 : 0;
}

// What concat takes apart, as a genuine array; what it does not take apart, so that it will not.
function spreadable(part) {
  if (typeof part !== 'object' && typeof part !== 'function') return part;
  if (part === null) return part;
  if (isArray(part) && !(spreadableKey in part)) {
    if (part.length > elementCountMax) tooLong();
    return part;
  }
  const flag = part[spreadableKey];
  return (flag === undefined ? isArray(part) : flag) ? copyOf(part) : [part];
}

// Counts in a loop of ours, which can be interrupted.
function countFlat(list, levels, before) {
  let count = before;
  for (let index = 0; index < list.length; index += 1) {
    const element = list[index];
    if (levels >= 1 && isArray(element)) count = countFlat(element, levels - 1, count);
    else count += 1;
    if (count > elementCountMax) tooLong();
  }
  return count;
}

replace(Array, {
  from(items, map, self) {
    if (typeof items === 'string' || isList(items)) return nativeFrom.call(this, items, map, self);
    const iterator = present(items)[iteratorKey];
    const hasIterator = iterator !== undefined && iterator !== null;
    if (!hasIterator && this === NativeArray) return nativeFrom(copyOf(items), map, self);
    const list = hasIterator
      ? { __proto__: null, [iteratorKey]: () => apply(iterator, items, []) }
      : withoutIterator(pinned(Object(items), elementCountMax));
    return nativeFrom.call(this, list, map, self);
  },
});

function withoutIterator(list) {
  const handler = { get: (target, key) => (key === iteratorKey ? undefined : get(target, key)) };
  return new NativeProxy(list, { __proto__: null, ...handler });
}
