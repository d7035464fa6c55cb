import { BinaryReader } from './binary-reader.ts';
import { BinaryWriter } from './binary-writer.ts';
import { nativeDecoderOf, nativeEncoderOf } from './native.ts';
import { product, sum, unitType } from './special-types.ts';

/** One measured number; `baseline` is a handwritten loop that does the same, in the same run. */
export interface Measurement {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
}

/** Rows per second through the generated codecs. `scale` 1 takes about two seconds. */
export function benchmarks(scale: number): Measurement[] {
  const rows = makeHeroes();
  const rounds = Math.ceil(scale * 2_000);
  const encodeHero = nativeEncoderOf(heroType);
  const decodeHero = nativeDecoderOf(heroType);
  const encoded = rows.map((row) => bytesOf(encodeHero, row));
  const readers = encoded.map((bytes) => new BinaryReader(bytes));
  const writer = new BinaryWriter();
  const encodeWith = (encode: (writer: BinaryWriter, row: Hero) => void) => () => {
    let checksum = 0;
    for (const row of rows) {
      writer.reset();
      encode(writer, row);
      checksum += writer.length;
    }
    return checksum;
  };
  const decodeWith = (decode: (reader: BinaryReader) => unknown) => () => {
    let checksum = 0;
    for (const [index, reader] of readers.entries()) {
      reader.reset(encoded[index] as Uint8Array);
      checksum += (decode(reader) as Hero).level;
    }
    return checksum;
  };
  return [
    {
      name: 'values: encode a row from an object',
      unit: 'rows/s',
      value: perSecond(rounds, encodeWith(encodeHero)),
      baseline: perSecond(rounds, encodeWith(encodeByHand)),
    },
    {
      name: 'values: decode a row to an object',
      unit: 'rows/s',
      value: perSecond(rounds, decodeWith(decodeHero)),
      baseline: perSecond(rounds, decodeWith(decodeByHand)),
    },
  ];
}

interface Hero {
  readonly id: bigint;
  readonly level: number;
  readonly health: number;
  readonly x: number;
  readonly y: number;
  readonly mood: { readonly tag: string };
  readonly name: string;
  readonly guild: number | undefined;
}

const heroType = product(
  ['id', { kind: 'u64' }],
  ['level', { kind: 'u8' }],
  ['health', { kind: 'i32' }],
  ['x', { kind: 'f32' }],
  ['y', { kind: 'f32' }],
  ['mood', sum(['Calm', unitType], ['Angry', unitType])],
  ['name', { kind: 'string' }],
  ['guild', { kind: 'u32' }],
);

const rowCount = 128;

function makeHeroes(): Hero[] {
  return Array.from({ length: rowCount }, (_, index) => ({
    id: BigInt(index) * 977n,
    level: index,
    health: -index * 31,
    x: index / 3,
    y: -index / 7,
    mood: { tag: index % 2 === 0 ? 'Calm' : 'Angry', value: {} },
    name: `hero ${index * 7919}`,
    guild: index * 13,
  }));
}

function bytesOf(encode: (writer: BinaryWriter, row: unknown) => void, row: Hero): Uint8Array {
  const writer = new BinaryWriter();
  encode(writer, row);
  return writer.finish();
}

function encodeByHand(writer: BinaryWriter, row: Hero): void {
  const at = writer.claim(22);
  const view = writer.dataView;
  view.setBigUint64(at, row.id, true);
  view.setUint8(at + 8, row.level);
  view.setInt32(at + 9, row.health, true);
  view.setFloat32(at + 13, row.x, true);
  view.setFloat32(at + 17, row.y, true);
  view.setUint8(at + 21, row.mood.tag === 'Calm' ? 0 : 1);
  writer.string(row.name);
  writer.u32(row.guild ?? 0);
}

function decodeByHand(reader: BinaryReader): Hero {
  const id = reader.u64();
  const level = reader.u8();
  const health = reader.i32();
  const x = reader.f32();
  const y = reader.f32();
  const mood = { tag: reader.u8() === 0 ? 'Calm' : 'Angry', value: {} };
  const name = reader.string();
  const guild = reader.u32();
  return { id, level, health, x, y, mood, name, guild };
}

/** Items per second of `round`, which handles `rowCount` of them, after a warm-up. */
function perSecond(rounds: number, round: () => number): number {
  const expected = round();
  for (let index = 0; index < rounds / 10; index += 1) round();
  const start = performance.now();
  for (let index = 0; index < rounds; index += 1) {
    if (round() !== expected) throw new Error('a benchmark round gave another checksum');
  }
  return (rounds * rowCount * 1000) / (performance.now() - start);
}
