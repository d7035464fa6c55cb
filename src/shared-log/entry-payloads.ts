import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import { readSegmentHeader, type SegmentHeader, segmentHeaderBytes } from '../log/segment.ts';
import { type OwnerIdentity, ownerIdentity } from '../values/identity-roles.ts';
import { type BootId, bootId, type HostId, hostId } from './host-ids.ts';
import { isLinkAddress } from './link-address.ts';

/** Payloads of the entries that hold no records; byte tables in `docs/format/entry.md`. */

/** Entry 0: what every host makes its local log with, so that all have the same records. */
export interface Beginning {
  /** The header of the first segment, encoded: it has salt, identity and epoch. */
  readonly segmentHeader: Uint8Array;
  readonly owner: OwnerIdentity;
  readonly generation: number;
  /** The file `origin` of a log that continues another one; else empty. */
  readonly origin: Uint8Array;
}

/** Who leads from an entry of kind term on, and how others know it. */
export interface Lead {
  readonly host: HostId;
  readonly boot: BootId;
  readonly name: string;
  readonly address: string;
  /** What the engine called its past when the entry was made. */
  readonly history: string;
  /** The oldest format of entries that the leader writes. */
  readonly format: number;
}

export function encodeBeginning(beginning: Beginning): Uint8Array {
  const { segmentHeader, owner, generation, origin } = beginning;
  assert(segmentHeader.length === segmentHeaderBytes, 'a header of a segment has a fixed length');
  const bytes = new Uint8Array(segmentHeaderBytes + 40 + origin.length);
  const view = new DataView(bytes.buffer);
  bytes.set(segmentHeader);
  for (let word = 0; word < 4; word++) {
    const part = BigInt.asUintN(64, owner >> BigInt(64 * word));
    view.setBigUint64(segmentHeaderBytes + 8 * word, part, true);
  }
  view.setBigUint64(segmentHeaderBytes + 32, BigInt(generation), true);
  bytes.set(origin, segmentHeaderBytes + 40);
  return bytes;
}

export type BeginningReading =
  | { readonly kind: 'valid'; readonly beginning: Beginning; readonly header: SegmentHeader }
  | { readonly kind: 'invalid'; readonly reason: string };

export function decodeBeginning(payload: Uint8Array): BeginningReading {
  const reading = readSegmentHeader(payload);
  if (reading.kind === 'later') return { kind: 'invalid', reason: `${reading.what} of a segment` };
  if (reading.kind === 'invalid' || payload.length < segmentHeaderBytes + 40) {
    return { kind: 'invalid', reason: 'it has no valid header of a segment' };
  }
  const view = new DataView(payload.buffer, payload.byteOffset + segmentHeaderBytes, 40);
  let owner = 0n;
  for (let word = 3; word >= 0; word--) owner = (owner << 64n) | view.getBigUint64(8 * word, true);
  const beginning = {
    segmentHeader: payload.slice(0, segmentHeaderBytes),
    owner: ownerIdentity(owner),
    generation: Number(view.getBigUint64(32, true)),
    origin: payload.slice(segmentHeaderBytes + 40),
  };
  return { kind: 'valid', beginning, header: reading.header };
}

/** What a host that has not read the entries before has to know of them. */
export interface Restart {
  readonly beginning: Beginning;
  /** Who leads, and the offset that it had promised to bring back; see `Tail.promised`. */
  readonly lead: Lead;
  readonly promised: number;
}

export function encodeRestart({ beginning, lead, promised }: Restart): Uint8Array {
  const leadBytes = encodeLead(lead);
  const beginningBytes = encodeBeginning(beginning);
  const bytes = new Uint8Array(12 + leadBytes.length + beginningBytes.length);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(promised), true);
  view.setUint32(8, leadBytes.length, true);
  bytes.set(leadBytes, 12);
  bytes.set(beginningBytes, 12 + leadBytes.length);
  return bytes;
}

/** `undefined` if these are no such bytes. */
export function decodeRestart(
  payload: Uint8Array,
): (Restart & { readonly header: SegmentHeader }) | undefined {
  if (payload.length < 12) return undefined;
  const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
  const end = 12 + view.getUint32(8, true);
  const lead = end > payload.length ? undefined : decodeLead(payload.subarray(12, end));
  if (lead === undefined) return undefined;
  const reading = decodeBeginning(payload.subarray(end));
  if (reading.kind === 'invalid') return undefined;
  const { beginning, header } = reading;
  return { beginning, header, lead, promised: Number(view.getBigUint64(0, true)) };
}

export function encodeLead(lead: Lead): Uint8Array {
  const texts = [lead.name, lead.address, lead.history].map((text) => encoder.encode(text));
  texts.forEach((text, at) => {
    assert(text.length <= (textBytesMax[at] ?? 0), `a text of a term is ${text.length} bytes`);
  });
  const length = texts.reduce((sum, text) => sum + 2 + text.length, 36);
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  setWide(view, 0, lead.host);
  setWide(view, 16, lead.boot);
  view.setUint32(32, lead.format, true);
  let at = 36;
  for (const text of texts) {
    view.setUint16(at, text.length, true);
    bytes.set(text, at + 2);
    at += 2 + text.length;
  }
  return bytes;
}

/** `undefined` if these are no such bytes. */
export function decodeLead(payload: Uint8Array): Lead | undefined {
  if (payload.length < 36) return undefined;
  const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
  const texts: string[] = [];
  let at = 36;
  for (const bytesMax of textBytesMax) {
    if (at + 2 > payload.length) return undefined;
    const length = view.getUint16(at, true);
    if (length > bytesMax || at + 2 + length > payload.length) return undefined;
    const text = textOf(payload.subarray(at + 2, at + 2 + length));
    if (text === undefined) return undefined;
    texts.push(text);
    at += 2 + length;
  }
  if (at !== payload.length) return undefined;
  const [name = '', address = '', history = ''] = texts;
  // Who imports a log leads nothing, and has none.
  if (address !== '' && !isLinkAddress(address)) return undefined;
  return {
    host: hostId(wideOf(view, 0)),
    boot: bootId(wideOf(view, 16)),
    name,
    address,
    history,
    format: view.getUint32(32, true),
  };
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function setWide(view: DataView, at: number, value: bigint): void {
  view.setBigUint64(at, BigInt.asUintN(64, value), true);
  view.setBigUint64(at + 8, value >> 64n, true);
}

function wideOf(view: DataView, at: number): bigint {
  return (view.getBigUint64(at + 8, true) << 64n) | view.getBigUint64(at, true);
}

const encoder = new TextEncoder();
/** Of name, address and history. */
const textBytesMax = [
  limits.hostNameBytesMax,
  limits.hostAddressBytesMax,
  limits.engineHistoryBytesMax,
];
