import { BinaryReader, DecodeError } from '../values/binary-reader.ts';
import { decodeType } from '../values/type-codec.ts';
import { readMigration } from './decode-migrations.ts';
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
  type RawParamDefault,
  type RawScheduleDelivery,
  type RawSchedulePolicy,
  type RawVector,
} from './raw-module.ts';

type OfRoot = Exclude<keyof typeof extensionTags, 'paramDefaults'>;

type Extension = { -readonly [Name in OfRoot]?: RawModule[Name] } & {
  paramDefaults?: readonly ScopedDefault[];
};

/** The default of a parameter, and the namespaces that lead to its function. */
interface ScopedDefault {
  readonly scope: readonly string[];
  readonly entry: RawParamDefault;
}

/**
 * Reads what follows the sections of version 10, `module`, up to the end of the bytes, and returns
 * the module with it. Other bytes than an extension are ignored, as other hosts do; a damaged
 * extension throws `DecodeError`.
 */
export function withExtension(module: RawModule, r: BinaryReader): RawModule {
  if (!isAtMagic(r)) return module;
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
  const { paramDefaults = [], ...ofRoot } = extension;
  return withDefaults({ ...module, ...ofRoot }, paramDefaults);
}

/** Each default at the module that its scope names. */
function withDefaults(module: RawModule, defaults: readonly ScopedDefault[]): RawModule {
  if (defaults.length === 0) return module;
  const own = defaults.flatMap(({ scope, entry }) => (scope.length === 0 ? [entry] : []));
  const inner = new Map<string, ScopedDefault[]>();
  for (const { scope, entry } of defaults) {
    const [namespace, ...rest] = scope;
    if (namespace === undefined) continue;
    const known = inner.get(namespace) ?? [];
    known.push({ scope: rest, entry });
    inner.set(namespace, known);
  }
  const submodules = module.submodules.map(({ namespace, module: submodule }) => {
    const ofSubmodule = inner.get(namespace) ?? [];
    inner.delete(namespace);
    return { namespace, module: withDefaults(submodule, ofSubmodule) };
  });
  const [stray] = inner.keys();
  if (stray !== undefined) {
    throw new DecodeError(
      `a parameter has a default in the submodule \`${stray}\`, which is missing`,
    );
  }
  return { ...module, paramDefaults: own, submodules };
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
    case extensionTags.paramDefaults:
      refuseSecond(tag, extension.paramDefaults);
      extension.paramDefaults = readList(block, readParamDefault);
      break;
    case extensionTags.migrations:
      refuseSecond(tag, extension.migrations);
      extension.migrations = readList(block, readMigration);
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

function readParamDefault(r: BinaryReader): ScopedDefault {
  const scope = readList(r, readString);
  return { scope, entry: { functionName: r.string(), param: r.u16(), value: r.bytes() } };
}

function readPolicy(r: BinaryReader): SchedulePolicy {
  return {
    catchUp: readTag(r, catchUpKinds, 'CatchUp'),
    retry: readOption(r, (reader) => ({ attempts: reader.u32(), backoffMicros: reader.i64() })),
  };
}
