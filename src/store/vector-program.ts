/**
 * A WebAssembly module of one function, written byte by byte: the sums of `vector-distance.ts` for
 * many vectors at once, two elements by each instruction.
 *
 * ```
 * memory  m                                   `memoryPages` pages of 64 KiB
 * f(list, count, wanted, length, out)         all are addresses but `count` and `length`
 *
 * list    count × u32: where each vector begins, at any address
 * wanted  length × f64, where length is a multiple of 8, at least 8
 * out     count × (f64, f64): the sum, and for `cosine` that of squares
 * ```
 */
import type { VectorMetric } from './vector-distance.ts';

export function vectorProgram(metric: VectorMetric, memoryPages: number): Uint8Array<ArrayBuffer> {
  const body = functionBody(metric);
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    // One type, of five i32 and no result, and one function of it.
    ...section(1, [1, 0x60, 5, i32, i32, i32, i32, i32, 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, ...unsigned(memoryPages)]),
    ...section(7, [2, 1, 0x6d, 2, 0, 1, 0x66, 0, 0]),
    ...section(10, [1, ...unsigned(body.length), ...body]),
  ]);
}

const i32 = 0x7f;
const v128 = 0x7b;

/** Parameters, then locals: three addresses and counts, eight sums and one temporary. */
const [list, count, wanted, length, out, at, wantedAt, left] = [0, 1, 2, 3, 4, 5, 6, 7];
const [sums, norms, held] = [8, 12, 16];

function functionBody(metric: VectorMetric): number[] {
  const used = metric === 'cosine' ? [sums, norms] : [sums];
  return [
    ...[2, 3, i32, 9, v128],
    ...[...block, ...get(count), isZero, ...leaveIf(0)],
    ...loop,
    ...[...get(list), ...loadI32, ...set(at), ...get(wanted), ...set(wantedAt)],
    ...[...get(length), ...set(left)],
    ...used.flatMap((first) => fourOf((lane) => [...zeroes, ...set(first + lane)])),
    ...[...loop, ...fourOf((lane) => step(metric, lane))],
    ...[...add(at, 32), ...add(wantedAt, 64), ...add(left, -8)],
    ...[...get(left), ...leaveIf(0), end],
    ...used.flatMap((first, index) => [...get(out), ...total(first), ...storeF64(8 * index)]),
    ...[...add(out, 16), ...add(list, 4), ...add(count, -1)],
    ...[...get(count), ...leaveIf(0), end, end, end],
  ];
}

/** Takes in elements `2 × lane` and `2 × lane + 1` of eight. */
function step(metric: VectorMetric, lane: number): number[] {
  const element = [...get(at), ...simd(0x5d), 0, ...unsigned(8 * lane), ...simd(0x5f)];
  const other = [...get(wantedAt), ...simd(0x00), 0, ...unsigned(16 * lane)];
  const into = (first: number): number[] => [...get(first + lane), ...plus, ...set(first + lane)];
  switch (metric) {
    case 'l2':
      return [...element, ...other, ...minus, ...tee(held), ...get(held), ...times, ...into(sums)];
    case 'innerProduct':
      return [...element, ...other, ...times, ...into(sums)];
    case 'cosine':
      return [
        ...[...element, ...tee(held), ...other, ...times, ...into(sums)],
        ...[...get(held), ...get(held), ...times, ...into(norms)],
      ];
    default:
      return metric satisfies never;
  }
}

/** Adds four vectors of two sums, then the two. */
function total(first: number): number[] {
  return [
    ...[...get(first), ...get(first + 1), ...plus, ...get(first + 2), ...plus],
    ...[...get(first + 3), ...plus, ...tee(held), ...simd(0x21), 0],
    ...[...get(held), ...simd(0x21), 1, addF64],
  ];
}

const block = [0x02, 0x40];
const loop = [0x03, 0x40];
const end = 0x0b;
const isZero = 0x45;
const addF64 = 0xa0;
const loadI32 = [0x28, 2, 0];
const plus = simd(0xf0);
const minus = simd(0xf1);
const times = simd(0xf2);
const zeroes = [...simd(0x0c), ...new Array<number>(16).fill(0)];

function get(local: number): number[] {
  return [0x20, local];
}

function set(local: number): number[] {
  return [0x21, local];
}

/** Sets a local, and leaves the value. */
function tee(local: number): number[] {
  return [0x22, local];
}

function leaveIf(depth: number): number[] {
  return [0x0d, depth];
}

function add(local: number, constant: number): number[] {
  // A constant is a signed number: 64 and more takes two bytes.
  const encoded =
    constant < -64 || constant > 63 ? [(constant & 0x7f) | 0x80, constant >> 7] : [constant & 0x7f];
  return [...get(local), 0x41, ...encoded, 0x6a, ...set(local)];
}

function storeF64(offset: number): number[] {
  return [0x39, 3, offset];
}

function simd(opcode: number): number[] {
  return [0xfd, ...unsigned(opcode)];
}

function fourOf(make: (lane: number) => number[]): number[] {
  return [0, 1, 2, 3].flatMap(make);
}

function section(id: number, bytes: readonly number[]): number[] {
  return [id, ...unsigned(bytes.length), ...bytes];
}

function unsigned(number: number): number[] {
  const bytes: number[] = [];
  let rest = number;
  do {
    const low = rest & 0x7f;
    rest >>>= 7;
    bytes.push(rest > 0 ? low | 0x80 : low);
  } while (rest > 0);
  return bytes;
}
