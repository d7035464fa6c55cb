import { BinaryWriter } from '../values/binary-writer.ts';
import type { ProductType } from '../values/type.ts';
import { encodeType } from '../values/type-codec.ts';
import type { Lifecycle, SchedulePolicy } from './definition.ts';
import {
  catchUpKinds,
  deliveryKinds,
  derivedIndexKinds,
  extensionMagic,
  extensionTags,
  extensionVersion,
  handlerAuthKinds,
  httpMethods,
  type RawHttpRoute,
  type RawIndex,
  type RawModule,
  type RawParamDefault,
  type RawReducer,
  type RawSequence,
  type RawTable,
  type RawView,
  sectionTags,
} from './raw-module.ts';

/**
 * The bytes that a module's describe hook returns. All fifteen sections are written, in the order
 * of the TypeScript library, even if they are empty; then the extension, if the module needs it.
 * Nothing is checked here. `migrations`: the payload of their block, by `migrationsBlock`, which
 * only programs that have some carry.
 */
export function encodeRawModuleV10(raw: RawModule, migrations?: Uint8Array): Uint8Array {
  const writer = new BinaryWriter();
  writer.u8(envelopeV10);
  writeModule(writer, raw);
  writeExtension(writer, raw, migrations);
  return writer.finish();
}

/** Tag of version 10 in the envelope. */
const envelopeV10 = 2;

type SectionName = keyof typeof sectionTags;

const sectionOrder: readonly SectionName[] = [
  'typespace',
  'types',
  'tables',
  'reducers',
  'procedures',
  'views',
  'viewPrimaryKeys',
  'schedules',
  'lifecycleReducers',
  'httpHandlers',
  'httpRoutes',
  'rowLevelSecurity',
  'explicitNames',
  'caseConversion',
  'submodules',
];

function writeModule(writer: BinaryWriter, raw: RawModule): void {
  writer.u32(sectionOrder.length);
  for (const name of sectionOrder) {
    writer.u8(sectionTags[name]);
    sectionWriters[name](writer, raw);
  }
}

const sectionWriters: Readonly<Record<SectionName, (w: BinaryWriter, raw: RawModule) => void>> = {
  typespace: (w, raw) => writeList(w, raw.typespace.types, encodeType),
  types: (w, raw) =>
    writeList(w, raw.types, (_, type) => {
      writeList(w, type.scope, writeString);
      w.string(type.sourceName);
      w.u32(type.ref);
      w.bool(type.customOrdering);
    }),
  tables: (w, raw) => writeList(w, raw.tables, writeTable),
  reducers: (w, raw) => writeList(w, raw.reducers, writeReducer),
  procedures: (w, raw) =>
    writeList(w, raw.procedures, (_, procedure) => {
      w.string(procedure.sourceName);
      writeProduct(w, procedure.params);
      encodeType(w, procedure.returnType);
      writeVisibility(w, procedure.visibility);
    }),
  views: (w, raw) => writeList(w, raw.views, writeView),
  schedules: (w, raw) =>
    writeList(w, raw.schedules, (_, schedule) => {
      writeOption(w, schedule.sourceName, writeString);
      w.string(schedule.tableName);
      w.u16(schedule.atColumn);
      w.string(schedule.functionName);
    }),
  lifecycleReducers: (w, raw) =>
    writeList(w, raw.lifecycleReducers, (_, { event, functionName }) => {
      w.u8(lifecycleTags[event]);
      w.string(functionName);
    }),
  rowLevelSecurity: (w, raw) => writeList(w, raw.rowLevelSecurity, writeString),
  caseConversion: (w, raw) => w.u8(raw.caseConversion === 'none' ? 0 : 1),
  explicitNames: (w, raw) =>
    writeList(w, raw.explicitNames, (_, entry) => {
      w.u8(explicitNameTags[entry.kind]);
      w.string(entry.sourceName);
      w.string(entry.canonicalName);
    }),
  httpHandlers: (w, raw) => writeList(w, raw.httpHandlers, writeString),
  httpRoutes: (w, raw) => writeList(w, raw.httpRoutes, writeRoute),
  viewPrimaryKeys: (w, raw) =>
    writeList(w, raw.viewPrimaryKeys, (_, key) => {
      w.string(key.viewName);
      writeList(w, key.columns, writeString);
    }),
  submodules: (w, raw) =>
    writeList(w, raw.submodules, (_, { namespace, module }) => {
      w.string(namespace);
      writeModule(w, module);
    }),
};

const lifecycleTags: Readonly<Record<Lifecycle, number>> = {
  init: 0,
  onConnect: 1,
  onDisconnect: 2,
};

const explicitNameTags = { table: 0, function: 1, index: 2 } as const;

const algorithmTags = { btree: 0, hash: 1, direct: 2 } as const;

/** Hosts that do not know the extension ignore what follows the sections. */
function writeExtension(w: BinaryWriter, raw: RawModule, migrations?: Uint8Array): void {
  const { schedulePolicies, crons, handlerAuth, env, scheduleDeliveries } = raw;
  const { derivedIndexes, vectors } = raw;
  const ofTables = [derivedIndexes, vectors];
  const paramDefaults = scopedDefaults(raw);
  const ofFunctions = [schedulePolicies, crons, handlerAuth, scheduleDeliveries, paramDefaults];
  const blocks = [...ofFunctions, env, ...ofTables];
  if (blocks.every(({ length }) => length === 0) && migrations === undefined) return;
  for (const byte of extensionMagic) w.u8(byte);
  w.u8(extensionVersion);
  writeBlock(w, extensionTags.schedulePolicies, schedulePolicies, (block, entry) => {
    block.string(entry.functionName);
    writePolicy(block, entry.policy);
  });
  writeBlock(w, extensionTags.crons, crons, (block, cron) => {
    block.string(cron.functionName);
    block.string(cron.expression);
    writeOption(block, cron.timeZone, writeString);
    writePolicy(block, cron.policy);
  });
  writeBlock(w, extensionTags.handlerAuth, handlerAuth, (block, { handler, auth }) => {
    block.string(handler);
    block.u8(handlerAuthKinds.indexOf(auth));
  });
  writeBlock(w, extensionTags.env, env, (block, { name, type, isSecret, isOptional }) => {
    block.string(name);
    encodeType(block, type);
    block.bool(isSecret);
    block.bool(isOptional);
  });
  writeBlock(w, extensionTags.scheduleDeliveries, scheduleDeliveries, (block, entry) => {
    block.string(entry.functionName);
    block.u8(deliveryKinds.indexOf(entry.delivery));
  });
  writeBlock(w, extensionTags.derivedIndexes, derivedIndexes, (block, index) => {
    block.string(index.tableName);
    block.u16(index.column);
    block.u8(derivedIndexKinds.indexOf(index.kind));
    writeList(block, index.options, (_, { name, value }) => {
      block.string(name);
      block.string(value);
    });
  });
  writeBlock(w, extensionTags.vectors, vectors, (block, { tableName, column, length }) => {
    block.string(tableName);
    block.u16(column);
    block.u32(length);
  });
  writeBlock(w, extensionTags.paramDefaults, paramDefaults, (block, { scope, entry }) => {
    writeList(block, scope, writeString);
    block.string(entry.functionName);
    block.u16(entry.param);
    block.bytes(entry.value);
  });
  if (migrations === undefined) return;
  w.u8(extensionTags.migrations);
  w.bytes(migrations);
}

/** The defaults of a module's parameters, and of those of its submodules with their namespaces. */
function scopedDefaults(
  { paramDefaults, submodules }: RawModule,
  scope: readonly string[] = [],
): readonly { readonly scope: readonly string[]; readonly entry: RawParamDefault }[] {
  const inner = submodules.flatMap(({ namespace, module }) => {
    return scopedDefaults(module, [...scope, namespace]);
  });
  return [...paramDefaults.map((entry) => ({ scope, entry })), ...inner];
}

/** A block has its length, so that hosts can skip those they do not know. */
function writeBlock<Item>(
  w: BinaryWriter,
  tag: number,
  items: readonly Item[],
  write: (block: BinaryWriter, item: Item) => void,
): void {
  if (items.length === 0) return;
  const block = new BinaryWriter();
  writeList(block, items, write);
  w.u8(tag);
  w.bytes(block.view());
}

function writePolicy(w: BinaryWriter, { catchUp, retry }: SchedulePolicy): void {
  w.u8(catchUpKinds.indexOf(catchUp));
  writeOption(w, retry, (_, { attempts, backoffMicros }) => {
    w.u32(attempts);
    w.i64(backoffMicros);
  });
}

function writeTable(w: BinaryWriter, table: RawTable): void {
  w.string(table.sourceName);
  w.u32(table.rowTypeRef);
  writeColumns(w, table.primaryKey);
  writeList(w, table.indexes, writeIndex);
  writeList(w, table.constraints, (_, constraint) => {
    writeOption(w, constraint.sourceName, writeString);
    w.u8(0);
    writeColumns(w, constraint.columns);
  });
  writeList(w, table.sequences, writeSequence);
  w.u8(table.tableType === 'system' ? 0 : 1);
  w.u8(table.access === 'public' ? 0 : 1);
  writeList(w, table.defaultValues, (_, { column, value }) => {
    w.u16(column);
    w.bytes(value);
  });
  w.bool(table.isEvent);
}

function writeIndex(w: BinaryWriter, index: RawIndex): void {
  writeOption(w, index.sourceName, writeString);
  writeOption(w, index.accessorName, writeString);
  w.u8(algorithmTags[index.algorithm]);
  if (index.algorithm === 'direct') w.u16(index.columns[0] ?? 0);
  else writeColumns(w, index.columns);
}

function writeSequence(w: BinaryWriter, sequence: RawSequence): void {
  writeOption(w, sequence.sourceName, writeString);
  w.u16(sequence.column);
  writeOption(w, sequence.start, writeI128);
  writeOption(w, sequence.minValue, writeI128);
  writeOption(w, sequence.maxValue, writeI128);
  w.i128(sequence.increment);
}

function writeReducer(w: BinaryWriter, reducer: RawReducer): void {
  w.string(reducer.sourceName);
  writeProduct(w, reducer.params);
  writeVisibility(w, reducer.visibility);
  encodeType(w, reducer.okReturnType);
  encodeType(w, reducer.errReturnType);
}

function writeView(w: BinaryWriter, view: RawView): void {
  w.string(view.sourceName);
  w.u32(view.index);
  w.bool(view.isPublic);
  w.bool(view.isAnonymous);
  writeProduct(w, view.params);
  encodeType(w, view.returnType);
}

function writeRoute(w: BinaryWriter, route: RawHttpRoute): void {
  w.string(route.handler);
  if (route.method === undefined) {
    w.u8(0);
  } else {
    w.u8(1);
    const tag = (httpMethods as readonly string[]).indexOf(route.method);
    w.u8(tag < 0 ? httpMethods.length : tag);
    if (tag < 0) w.string(route.method);
  }
  w.string(route.path);
}

function writeVisibility(w: BinaryWriter, visibility: 'private' | 'clientCallable'): void {
  w.u8(visibility === 'private' ? 0 : 1);
}

/** A product's elements without the tag that says "product". */
function writeProduct(w: BinaryWriter, product: ProductType): void {
  writeList(w, product.elements, (_, { name, type }) => {
    writeOption(w, name, writeString);
    encodeType(w, type);
  });
}

function writeColumns(w: BinaryWriter, columns: readonly number[]): void {
  writeList(w, columns, (_, column) => w.u16(column));
}

function writeList<Item>(
  w: BinaryWriter,
  items: readonly Item[],
  write: (w: BinaryWriter, item: Item) => void,
): void {
  w.u32(items.length);
  for (const item of items) write(w, item);
}

function writeOption<Item>(
  w: BinaryWriter,
  item: Item | undefined,
  write: (w: BinaryWriter, item: Item) => void,
): void {
  w.u8(item === undefined ? 1 : 0);
  if (item !== undefined) write(w, item);
}

function writeString(w: BinaryWriter, text: string): void {
  w.string(text);
}

function writeI128(w: BinaryWriter, value: bigint): void {
  w.i128(value);
}
