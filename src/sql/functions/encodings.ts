/** Functions between bytes, ids and texts: `to_hex`, `encode`, `decode`. */
import { bigintToHex, fromHex } from '../../values/hex.ts';
import { isIntegerKind } from '../../values/integer-range.ts';
import { bytesType } from '../../values/special-types.ts';
import type { AlgebraicType, ScalarKind } from '../../values/type.ts';
import { readUtf8, utf8Length, writeUtf8 } from '../../values/utf8.ts';
import { invalid } from '../failure.ts';
import { family, resolved } from './family.ts';
import type { FunctionFamily } from './function.ts';
import { checkTextLength } from './text-length.ts';
import { scalarOfKind, scalarTypes, valueKindOf } from './value-kind.ts';
import { hexText, shortened } from './value-text.ts';

const { string } = scalarTypes;

const toHexFamily: FunctionFamily = {
  name: 'to_hex',
  signatures: [
    'to_hex(number any integer) → String',
    'to_hex(id Identity | ConnectionId | UUID) → String',
    'to_hex(bytes Array<U8>) → String',
  ],
  resolve: ([type, ...rest]) =>
    type === undefined || rest.length > 0 ? undefined : resolveToHex(type),
};

function resolveToHex(type: AlgebraicType): ReturnType<FunctionFamily['resolve']> {
  const kind = valueKindOf(type);
  if (kind === 'bytes') {
    return resolved('to_hex', {
      parameters: [type],
      result: string,
      evaluate: ([bytes]) => hexText((bytes as Uint8Array).subarray(4)),
    });
  }
  const scalar = scalarOfKind(kind);
  if (scalar === undefined || !isIntegerKind(scalar)) return undefined;
  const bits = bitsOf(scalar);
  const isId = kind === 'identity' || kind === 'connectionId' || kind === 'uuid';
  return resolved('to_hex', {
    parameters: [type],
    result: string,
    // Below zero: the digits of the two's complement in the width of the type. Ids have all digits.
    evaluate: ([value]) =>
      bigintToHex(BigInt.asUintN(bits, BigInt(value as bigint)), isId ? bits / 4 : 1),
  });
}

function bitsOf(kind: ScalarKind): number {
  return Number(kind.slice(1));
}

const encode = family(
  'encode',
  ["encode(bytes Array<U8>, format 'hex' | 'base64' | 'utf8') → String"],
  [
    {
      parameters: [bytesType, string],
      result: string,
      canRaise: true,
      evaluate: ([value, format]) => {
        const bytes = (value as Uint8Array).subarray(4);
        switch (formatOf(format as string)) {
          case 'hex':
            return hexText(bytes);
          case 'base64':
            checkTextLength(4 * Math.ceil(bytes.length / 3));
            return toBase64(bytes);
          default: {
            const text = readUtf8(bytes, 0, bytes.length);
            checkTextLength(text?.length ?? 0);
            if (text === undefined) throw invalid('encode: the bytes are not UTF-8');
            return text;
          }
        }
      },
    },
  ],
);

const decode = family(
  'decode',
  ["decode(text String, format 'hex' | 'base64' | 'utf8') → Array<U8>"],
  [
    {
      parameters: [string, string],
      result: bytesType,
      canRaise: true,
      evaluate: ([value, format]) => {
        const text = value as string;
        const name = formatOf(format as string);
        const bytes =
          name === 'hex' ? fromHex(text) : name === 'base64' ? fromBase64(text) : fromText(text);
        if (bytes === undefined) throw invalid(`decode: '${shortened(text)}' is not ${name}`);
        return counted(bytes);
      },
    },
  ],
);

type Format = 'hex' | 'base64' | 'utf8';

function formatOf(text: string): Format {
  const name = text.toLowerCase();
  if (name === 'hex' || name === 'base64' || name === 'utf8') return name;
  throw invalid(`'${shortened(text)}' is not a format; there are 'hex', 'base64' and 'utf8'`);
}

function fromText(text: string): Uint8Array {
  const bytes = new Uint8Array(3 * text.length);
  writeUtf8(text, bytes, new DataView(bytes.buffer), 0);
  return bytes.subarray(0, utf8Length(text));
}

/** The encoding of a byte array: its count, then its bytes. */
function counted(bytes: Uint8Array): Uint8Array {
  const encoded = new Uint8Array(4 + bytes.length);
  new DataView(encoded.buffer).setUint32(0, bytes.length, true);
  encoded.set(bytes, 4);
  return encoded;
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** RFC 4648 with padding, in one line. */
function toBase64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += bytesAtOnce) {
    parts.push(partToBase64(bytes.subarray(at, at + bytesAtOnce)));
  }
  return parts.join('');
}

/** A multiple of three, so that only the last part is padded. */
const bytesAtOnce = 3 * 1_024;

function partToBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const left = bytes.length - at;
    const bits = ((bytes[at] as number) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    text += digits.charAt(bits >> 18) + digits.charAt((bits >> 12) & 63);
    text += left > 1 ? digits.charAt((bits >> 6) & 63) : '=';
    text += left > 2 ? digits.charAt(bits & 63) : '=';
  }
  return text;
}

/** Padding may be missing; blanks and line ends are skipped. */
function fromBase64(text: string): Uint8Array | undefined {
  const bare = text.replace(/\s+/g, '').replace(/={1,2}$/, '');
  if (bare.length % 4 === 1) return undefined;
  const bytes = new Uint8Array(Math.floor((bare.length * 3) / 4));
  let bits = 0;
  let bitCount = 0;
  let at = 0;
  for (const digit of bare) {
    const value = digits.indexOf(digit);
    if (value < 0) return undefined;
    bits = ((bits << 6) | value) & 0xffff;
    bitCount += 6;
    if (bitCount >= 8) {
      bitCount -= 8;
      bytes[at++] = (bits >> bitCount) & 0xff;
    }
  }
  return bytes;
}

export const encodingFunctions: readonly FunctionFamily[] = [toHexFamily, encode, decode];
