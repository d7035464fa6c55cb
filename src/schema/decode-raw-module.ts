import { limits } from '../limits.ts';
import { BinaryReader, DecodeError } from '../values/binary-reader.ts';
import { decodeType } from '../values/type-codec.ts';
import { withExtension } from './decode-extension.ts';
import { decodeRawModuleV9 } from './decode-raw-module-v9.ts';
import {
  readAccess,
  readColumns,
  readConstraint,
  readIndex,
  readLifecycle,
  readList,
  readOption,
  readProduct,
  readSequence,
  readString,
  readTableType,
  readTag,
  readTypeDefinition,
  readView,
  readVisibility,
} from './decode-raw-parts.ts';
import {
  emptyRawModule,
  httpMethods,
  type RawHttpRoute,
  type RawModule,
  type RawSubmodule,
  type RawTable,
  sectionTags,
} from './raw-module.ts';

/**
 * Reads the result of a module's describe hook. Bytes after the description are ignored, unless
 * they are its extension; anything else that is not a description of version 9 or 10 throws
 * `DecodeError`.
 */
export function decodeRawModule(bytes: Uint8Array): RawModule {
  const reader = new BinaryReader(bytes);
  switch (readTag(reader, [8, 9, 10] as const, 'RawModuleDef')) {
    case 8:
      throw new DecodeError(
        'the module describes itself in version 8, which is not supported; ' +
          'rebuild it with a library of version 1.0 or later',
      );
    case 9:
      return decodeRawModuleV9(reader);
    case 10:
      return withExtension(readModule(reader, 0), reader);
  }
}

type Sections = { -readonly [Name in keyof RawModule]?: RawModule[Name] };

/** Sections come in any order; if one kind occurs several times, the first counts. */
function readModule(r: BinaryReader, depth: number): RawModule {
  if (depth > limits.nestingDepthMax) {
    throw new DecodeError(`submodules nested deeper than ${limits.nestingDepthMax}`);
  }
  const sections: Sections = {};
  const count = r.u32();
  for (let index = 0; index < count; index += 1) {
    const section = readSection(r, depth);
    for (const [name, payload] of Object.entries(section)) {
      if (!Object.hasOwn(sections, name)) Object.assign(sections, { [name]: payload });
    }
  }
  return { ...emptyRawModule, ...sections };
}

function readSection(r: BinaryReader, depth: number): Sections {
  const name = readTag(r, sectionNames, 'RawModuleDefV10Section');
  switch (name) {
    case 'typespace':
      return { typespace: { types: readList(r, decodeType) } };
    case 'types':
      return { types: readList(r, readTypeDefinition) };
    case 'tables':
      return { tables: readList(r, readTable) };
    case 'reducers':
      return { reducers: readList(r, readReducer) };
    case 'procedures':
      return { procedures: readList(r, readProcedure) };
    case 'views':
      return { views: readList(r, readView) };
    case 'schedules':
      return { schedules: readList(r, readSchedule) };
    case 'lifecycleReducers':
      return { lifecycleReducers: readList(r, readLifecycleReducer) };
    case 'rowLevelSecurity':
      return { rowLevelSecurity: readList(r, readString) };
    case 'caseConversion':
      return { caseConversion: readTag(r, ['none', 'snakeCase'] as const, 'CaseConversionPolicy') };
    case 'explicitNames':
      return { explicitNames: readList(r, readExplicitName) };
    case 'httpHandlers':
      return { httpHandlers: readList(r, readString) };
    case 'httpRoutes':
      return { httpRoutes: readList(r, readRoute) };
    case 'viewPrimaryKeys':
      return { viewPrimaryKeys: readList(r, readViewPrimaryKey) };
    case 'submodules':
      return { submodules: readList(r, (reader) => readSubmodule(reader, depth)) };
  }
}

type SectionName = keyof typeof sectionTags;

/** Section names by tag. */
const sectionNames = (Object.keys(sectionTags) as SectionName[]).sort(
  (a, b) => sectionTags[a] - sectionTags[b],
);

function readTable(r: BinaryReader): RawTable {
  return {
    sourceName: r.string(),
    rowTypeRef: r.u32(),
    primaryKey: readColumns(r),
    indexes: readList(r, readIndex),
    constraints: readList(r, readConstraint),
    sequences: readList(r, readSequence),
    tableType: readTableType(r),
    access: readAccess(r),
    defaultValues: readList(r, (reader) => ({ column: reader.u16(), value: reader.bytes() })),
    isEvent: r.bool(),
  };
}

function readReducer(r: BinaryReader) {
  return {
    sourceName: r.string(),
    params: readProduct(r),
    visibility: readVisibility(r),
    okReturnType: decodeType(r),
    errReturnType: decodeType(r),
  };
}

function readProcedure(r: BinaryReader) {
  return {
    sourceName: r.string(),
    params: readProduct(r),
    returnType: decodeType(r),
    visibility: readVisibility(r),
  };
}

function readSchedule(r: BinaryReader) {
  return {
    sourceName: readOption(r, readString),
    tableName: r.string(),
    atColumn: r.u16(),
    functionName: r.string(),
  };
}

function readLifecycleReducer(r: BinaryReader) {
  return { event: readLifecycle(r), functionName: r.string() };
}

function readExplicitName(r: BinaryReader) {
  return {
    kind: readTag(r, ['table', 'function', 'index'] as const, 'ExplicitNameEntry'),
    sourceName: r.string(),
    canonicalName: r.string(),
  };
}

function readRoute(r: BinaryReader): RawHttpRoute {
  const handler = r.string();
  const scope = readTag(r, ['any', 'method'], 'MethodOrAny');
  const method = scope === 'any' ? undefined : readMethod(r);
  return { handler, method, path: r.string() };
}

function readMethod(r: BinaryReader): string {
  const method = readTag(r, [...httpMethods, 'extension'], 'HttpMethod');
  return method === 'extension' ? r.string() : method;
}

function readViewPrimaryKey(r: BinaryReader) {
  return { viewName: r.string(), columns: readList(r, readString) };
}

function readSubmodule(r: BinaryReader, depth: number): RawSubmodule {
  return { namespace: r.string(), module: readModule(r, depth + 1) };
}
