import { BinaryReader, DecodeError } from '../values/binary-reader.ts';
import { decodeType } from '../values/type-codec.ts';
import { readIndexOption, readList, readOption, readString, readTag } from './decode-raw-parts.ts';
import type { SchedulePolicy } from './definition.ts';
import {
  catchUpKinds,
  deliveryKinds,
  derivedIndexKinds,
  extensionMagic,
  extensionTags,
  extensionVersion,
  handlerAuthKinds,
  type RawCron,
  type RawDerivedIndex,
  type RawEnvName,
  type RawHandlerAuth,
  type RawModule,
  type RawScheduleDelivery,
  type RawSchedulePolicy,
  type RawVector,
} from './raw-module.ts';

type Extension = { -readonly [Name in keyof typeof extensionTags]?: RawModule[Name] };

/**
 * Reads what follows the sections of version 10 up to the end of the bytes. Other bytes than an
 * extension are ignored, as other hosts do; a damaged extension throws `DecodeError`.
 */
export function readExtension(r: BinaryReader): Extension {
  if (!isAtMagic(r)) return {};
  r.claim(extensionMagic.length, 'extension');
  const version = r.u8();
  if (version !== extensionVersion) {
    throw new DecodeError(
      `the module's extension has version ${version}, which is not supported; ` +
        'publish it to a newer service, or rebuild it with an older library',
    );
  }
  const extension: Extension = {};
  while (r.remaining > 0) readBlock(r, extension);
  return extension;
}

function isAtMagic({ source, offset, remaining }: BinaryReader): boolean {
  return (
    remaining >= extensionMagic.length &&
    extensionMagic.every((byte, at) => source[offset + at] === byte)
  );
}

/** Blocks with unknown tags are skipped; one that is known comes once. */
function readBlock(r: BinaryReader, extension: Extension): void {
  const tag = r.u8();
  const block = new BinaryReader(r.bytes());
  switch (tag) {
    case extensionTags.schedulePolicies:
      refuseSecond(tag, extension.schedulePolicies);
      extension.schedulePolicies = readList(block, readFunctionPolicy);
      break;
    case extensionTags.crons:
      refuseSecond(tag, extension.crons);
      extension.crons = readList(block, readCron);
      break;
    case extensionTags.handlerAuth:
      refuseSecond(tag, extension.handlerAuth);
      extension.handlerAuth = readList(block, readHandlerAuth);
      break;
    case extensionTags.env:
      refuseSecond(tag, extension.env);
      extension.env = readList(block, readEnvName);
      break;
    case extensionTags.scheduleDeliveries:
      refuseSecond(tag, extension.scheduleDeliveries);
      extension.scheduleDeliveries = readList(block, readDelivery);
      break;
    case extensionTags.derivedIndexes:
      refuseSecond(tag, extension.derivedIndexes);
      extension.derivedIndexes = readList(block, readDerivedIndex);
      break;
    case extensionTags.vectors:
      refuseSecond(tag, extension.vectors);
      extension.vectors = readList(block, readVector);
      break;
    default:
      return;
  }
  if (block.remaining > 0) {
    throw new DecodeError(`block ${tag} of the module's extension is too long`);
  }
}

function refuseSecond(tag: number, known: unknown): void {
  if (known === undefined) return;
  throw new DecodeError(`block ${tag} of the module's extension occurs twice`);
}

function readFunctionPolicy(r: BinaryReader): RawSchedulePolicy {
  return { functionName: r.string(), policy: readPolicy(r) };
}

function readDelivery(r: BinaryReader): RawScheduleDelivery {
  return { functionName: r.string(), delivery: readTag(r, deliveryKinds, 'Delivery') };
}

function readCron(r: BinaryReader): RawCron {
  return {
    functionName: r.string(),
    expression: r.string(),
    timeZone: readOption(r, readString),
    policy: readPolicy(r),
  };
}

function readHandlerAuth(r: BinaryReader): RawHandlerAuth {
  return { handler: r.string(), auth: readTag(r, handlerAuthKinds, 'HandlerAuth') };
}

function readEnvName(r: BinaryReader): RawEnvName {
  return { name: r.string(), type: decodeType(r), isSecret: r.bool(), isOptional: r.bool() };
}

function readDerivedIndex(r: BinaryReader): RawDerivedIndex {
  return {
    tableName: r.string(),
    column: r.u16(),
    kind: readTag(r, derivedIndexKinds, 'DerivedIndexKind'),
    options: readList(r, readIndexOption),
  };
}

function readVector(r: BinaryReader): RawVector {
  return { tableName: r.string(), column: r.u16(), length: r.u32() };
}

function readPolicy(r: BinaryReader): SchedulePolicy {
  return {
    catchUp: readTag(r, catchUpKinds, 'CatchUp'),
    retry: readOption(r, (reader) => ({ attempts: reader.u32(), backoffMicros: reader.i64() })),
  };
}
