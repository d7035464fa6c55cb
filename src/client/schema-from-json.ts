/**
 * Converts the JSON of the schema endpoint, version 10, to the client's schema. The JSON has the
 * module's spelling of tables and functions, with their names on the wire; columns and variants
 * have their canonical names. Programs see the spelling of generated code: camel case for columns,
 * fields and parameters, Pascal case for variants.
 */
import { toCamelCase, toPascalCase } from '../declare/names.ts';
import { viewRowOf } from '../schema/view-rows.ts';
import { specialKindOf } from '../values/special-types.ts';
import {
  type AlgebraicType,
  emptyTypespace,
  type NamedType,
  type ProductType,
  type Typespace,
} from '../values/type.ts';
import type { RawSchema } from './client-schema.ts';
import {
  type ClientColumn,
  ClientFunction,
  type ClientIndex,
  type ClientSchema,
  ClientTable,
  schemaOf,
} from './client-schema.ts';
import { kept } from './kept.ts';

/** Converts JSON from the endpoint, which is trusted to be well formed. */
export function schemaFromJson(json: RawSchema): ClientSchema {
  const found: Found = { tables: [], reducers: [], procedures: [] };
  addModule(json, '', '', found);
  return { ...schemaOf(found.tables, found.reducers, found.procedures), source: json };
}

interface Found {
  readonly tables: ClientTable[];
  readonly reducers: ClientFunction[];
  readonly procedures: ClientFunction[];
}

/** The parts of the JSON that are read here. */
interface JsonTable {
  readonly source_name: string;
  readonly product_type_ref: number;
  readonly primary_key: readonly number[];
  readonly indexes: readonly JsonIndex[];
  readonly constraints: readonly { data: { Unique: { columns: readonly number[] } } }[];
  readonly is_event: boolean;
}

interface JsonIndex {
  readonly accessor_name: { readonly some?: string };
  readonly algorithm: Readonly<Record<string, readonly number[] | number>>;
}

interface JsonFunction {
  readonly source_name: string;
  readonly params: { readonly elements: readonly JsonNamed[] };
  /** Present for a procedure. */
  readonly return_type?: JsonType;
  /** Present for a reducer; an empty result is not sent. */
  readonly ok_return_type?: JsonType;
  readonly err_return_type?: JsonType;
  readonly visibility?: Readonly<Record<string, unknown>>;
}

interface ExplicitName {
  readonly source_name: string;
  readonly canonical_name: string;
}

interface JsonNamed {
  readonly name: { readonly some?: string };
  readonly algebraic_type: JsonType;
}

type JsonType = Readonly<Record<string, any>>;

/** `path` and `prefix` precede accessors and names of a submodule: `guilds.`. */
function addModule(json: RawSchema, path: string, prefix: string, found: Found): void {
  const section = (kind: string) => sectionOf(json, kind);
  const typespace: Typespace = { types: (section('Typespace')?.types ?? []).map(typeOf) };
  const names = canonicalNames(json);
  const named = (kind: string, sourceName: string) => ({
    accessor: path + toCamelCase(sourceName),
    name: prefix + (names.get(`${kind}:${sourceName}`) ?? sourceName),
    typespace,
  });
  const tables: readonly JsonTable[] = section('Tables') ?? [];
  for (const table of tables) {
    const columns = columnsOf(typespace, section('Typespace').types, table.product_type_ref);
    const primaryKey = table.primary_key[0];
    const indexes = indexesOf(table, columns);
    const isEvent = table.is_event;
    const parts = { ...named('Table', table.source_name), columns, primaryKey, indexes, isEvent };
    found.tables.push(new ClientTable(parts));
  }
  for (const view of section('Views') ?? []) {
    const row = viewRowOf(typeOf(view.return_type));
    if (row === undefined) continue;
    const columns = columnsOf(typespace, section('Typespace').types, row.ref);
    const keys = section('ViewPrimaryKeys') ?? [];
    const key = keys.find((each: any) => each.view_source_name === view.source_name)?.columns[0];
    const inherited = tables.find((table) => row.isQuery && table.product_type_ref === row.ref);
    const position = columns.findIndex(({ name }) => name === key);
    const primaryKey = position < 0 ? inherited?.primary_key[0] : position;
    const parts = { ...named('Function', view.source_name), columns, primaryKey };
    found.tables.push(new ClientTable({ ...parts, indexes: [], isEvent: false }));
  }
  const functions = (kind: 'Reducers' | 'Procedures'): ClientFunction[] => {
    const all: readonly JsonFunction[] = section(kind) ?? [];
    const callable = all.filter(({ visibility }) => !('Private' in (visibility ?? {})));
    return callable.map(({ source_name, params, return_type, ok_return_type, err_return_type }) => {
      // A reducer that returns nothing sends nothing, not an empty value.
      const isSilent = ok_return_type?.Product?.elements.length === 0;
      const type = return_type ?? (isSilent ? undefined : ok_return_type);
      const returns = type && typeOf(type);
      const hasValue = err_return_type !== undefined && !('String' in err_return_type);
      const throws = hasValue ? typeOf(err_return_type) : undefined;
      const product: ProductType = { kind: 'product', elements: params.elements.map(fieldOf) };
      const parts = named('Function', source_name);
      return new ClientFunction({ ...parts, params: product, returns, throws });
    });
  };
  found.reducers.push(...functions('Reducers'));
  found.procedures.push(...functions('Procedures'));
  for (const { namespace, module } of section('Submodules') ?? []) {
    addModule(module, `${path}${toCamelCase(namespace)}.`, `${prefix}${namespace}.`, found);
  }
}

/** Names on the wire that differ from those in the source, by `Table:hero`, `Function:say`. */
export function canonicalNames(json: RawSchema): ReadonlyMap<string, string> {
  const entries: readonly Readonly<Record<string, ExplicitName>>[] =
    sectionOf(json, 'ExplicitNames')?.entries ?? [];
  const names = entries.flatMap((entry) => Object.entries(entry));
  return new Map(
    names.map(([kind, { source_name, canonical_name }]) => {
      return [`${kind}:${source_name}`, canonical_name];
    }),
  );
}

/** A section of the schema, in the shape of its kind; empty sections are missing. */
export function sectionOf({ sections }: RawSchema, kind: string): any {
  return sections.find((each) => kind in each)?.[kind];
}

/** Reads the types of computed rows, each once: their JSON takes the place of a table's name. */
export function computedTables(): (name: string) => ClientTable {
  const known = new Map<string, ClientTable>();
  const rest = { typespace: emptyTypespace, primaryKey: undefined, indexes: [], isEvent: false };
  return (name) =>
    kept(known, name, () => {
      const { elements }: { elements: readonly JsonNamed[] } = JSON.parse(name);
      const columns = elements.map((element, at) => {
        const { name: key = `column${at + 1}`, type } = fieldOf(element);
        return { key, name: element.name.some ?? key, type };
      });
      return new ClientTable({ accessor: name, name, columns, ...rest });
    });
}

function columnsOf(
  typespace: Typespace,
  types: readonly JsonType[],
  ref: number,
): readonly ClientColumn[] {
  const product = typespace.types[ref];
  if (product?.kind !== 'product') throw new TypeError(`type ${ref} is not a row`);
  const named: readonly JsonNamed[] = types[ref]?.Product.elements;
  return product.elements.map(({ name, type }, position) => {
    return { key: name ?? '', name: named[position]?.name.some ?? '', type };
  });
}

function indexesOf(table: JsonTable, columns: readonly ClientColumn[]): ClientIndex[] {
  const sets = table.constraints.map(({ data }) => data.Unique.columns);
  const isSet = (positions: readonly number[]) => sets.some((set) => sameSet(set, positions));
  return table.indexes.flatMap(({ accessor_name, algorithm }) => {
    const [given = []] = Object.values(algorithm);
    const positions = typeof given === 'number' ? [given] : given;
    const accessor = accessor_name.some;
    if (accessor === undefined) return [];
    // Also if each column is unique on its own.
    const isUnique = isSet(positions) || positions.every((at) => isSet([at]));
    const keys = positions.map((at) => columns[at]?.key ?? '');
    // An index named like its column keeps that in the client's spelling.
    const own = keys.find((key) => toCamelCase(accessor).toLowerCase() === key.toLowerCase());
    return [{ accessor: own ?? accessor, columns: keys, isUnique }];
  });
}

function sameSet(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((item) => b.includes(item));
}

/** A type as programs see it; types that are special by their shape keep their names. */
function typeOf(json: JsonType): AlgebraicType {
  const [kind = ''] = Object.keys(json);
  const payload = json[kind];
  switch (kind) {
    case 'Ref':
      return { kind: 'ref', ref: payload };
    case 'Array':
      return { kind: 'array', element: typeOf(payload) };
    case 'Product': {
      const elements = payload.elements as readonly JsonNamed[];
      const plain: AlgebraicType = { kind: 'product', elements: elements.map(verbatim) };
      if (specialKindOf(plain) !== undefined || plain.elements[0]?.name === '__query__')
        return plain;
      return { kind: 'product', elements: plain.elements.map(renamed(toCamelCase)) };
    }
    case 'Sum': {
      const variants = payload.variants as readonly JsonNamed[];
      const plain: AlgebraicType = { kind: 'sum', variants: variants.map(verbatim) };
      if (specialKindOf(plain) !== undefined) return plain;
      return { kind: 'sum', variants: plain.variants.map(renamed(toPascalCase)) };
    }
    default:
      return { kind: kind.toLowerCase() } as AlgebraicType;
  }
}

function verbatim({ name, algebraic_type }: JsonNamed): NamedType {
  return { name: name.some, type: typeOf(algebraic_type) };
}

function fieldOf(json: JsonNamed): NamedType {
  return renamed(toCamelCase)(verbatim(json));
}

function renamed(change: (name: string) => string): (item: NamedType) => NamedType {
  return ({ name, type }) => ({ name: name === undefined ? name : change(name), type });
}
