import { unreachable } from '../assert.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import { typeText } from '../values/typespace.ts';
import type { DerivedIndexDefinition, TableDefinition } from './definition.ts';
import { isLanguage, languageOption, languages } from './languages.ts';
import { generatedIndexName } from './names.ts';
import type { RawDerivedIndex } from './raw-module.ts';
import { followRefs, type Scope } from './scope.ts';

/** Derived indexes by the source name of their table, ascending by name. */
export function validateDerivedIndexes(
  scope: Scope,
  tables: readonly TableDefinition[],
): Map<string, DerivedIndexDefinition[]> {
  const { raw, problems } = scope;
  const valid = new Map(tables.map((table) => [table.sourceName, table]));
  const declared = new Set(raw.tables.map(({ sourceName }) => sourceName));
  const indexes = new Map<string, DerivedIndexDefinition[]>();
  for (const index of raw.derivedIndexes) {
    const { tableName } = index;
    const table = valid.get(tableName);
    if (table === undefined) {
      // A table that exists but was rejected has its own message.
      if (!declared.has(tableName)) problems.report(`Table ${tableName} not found`);
      continue;
    }
    const definition = validateIndex(scope, table, index);
    if (definition === undefined) continue;
    indexes.set(tableName, [...(indexes.get(tableName) ?? []), definition]);
  }
  for (const list of indexes.values()) list.sort((a, b) => (a.name < b.name ? -1 : 1));
  return indexes;
}

function validateIndex(
  scope: Scope,
  table: TableDefinition,
  raw: RawDerivedIndex,
): DerivedIndexDefinition | undefined {
  const { kind, column } = raw;
  const { name: columnName, type, vectorLength } = table.columns[column] ?? {};
  if (columnName === undefined || type === undefined) {
    const where = `not found in table \`${table.name}\``;
    scope.problems.report(`column \`${column}\` referenced by an index of kind ${kind} ${where}`);
    return undefined;
  }
  const name = generatedIndexName(table.name, [columnName], kind);
  scope.entities.claim(name);
  // A type that was rejected could be endless.
  const problem =
    kind === 'vector'
      ? problemOfVector(raw, vectorLength)
      : scope.types.isSound
        ? problemOf(raw, type, scope.typespace)
        : undefined;
  if (problem !== undefined) {
    scope.problems.report(`index \`${name}\` of column \`${columnName}\`: ${problem}`);
  }
  const options = raw.options.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { name, kind, column, options };
}

/** Why a kind of index cannot serve a column of that type with these options. */
function problemOf(
  { kind, options }: RawDerivedIndex,
  type: AlgebraicType,
  typespace: Typespace,
): string | undefined {
  switch (kind) {
    case 'inverted': {
      const [option] = options;
      if (option !== undefined) return `an inverted index has no option \`${option.name}\``;
      const array = followRefs(type, typespace);
      if (array.kind !== 'array') {
        return `an inverted index is of an array, not of \`${typeText(type, typespace)}\``;
      }
      if (!isRecursive(array.element, typespace)) return undefined;
      return 'an inverted index cannot be of elements of a recursive type';
    }
    case 'text':
      return textProblem(options, type, typespace);
    case 'vector':
      return undefined;
    default:
      return unreachable(kind);
  }
}

function textProblem(
  options: RawDerivedIndex['options'],
  type: AlgebraicType,
  typespace: Typespace,
): string | undefined {
  const [option, second] = options;
  const unknown = [option, second].find((one) => one !== undefined && one.name !== languageOption);
  if (unknown !== undefined) return `a text index has no option \`${unknown.name}\``;
  if (second !== undefined) return 'a text index has one language';
  if (option !== undefined && !isLanguage(option.value)) {
    const known = languages.map((language) => `\`${language}\``).join(', ');
    return `\`${option.value}\` is not a language of a text index; use one of ${known}`;
  }
  if (followRefs(type, typespace).kind === 'string') return undefined;
  return `a text index is of a string, not of \`${typeText(type, typespace)}\``;
}

/** An index of vectors names its metric, and the length: with another it is another index. */
function problemOfVector(
  { options }: RawDerivedIndex,
  vectorLength: number | undefined,
): string | undefined {
  if (vectorLength === undefined) return 'an index of vectors is of a column `t.vector(length)`';
  const values = new Map(options.map(({ name, value }) => [name, value]));
  const metric = values.get('metric') ?? '';
  if (!['l2', 'cosine', 'innerProduct'].includes(metric)) {
    return `\`${metric}\` is not a metric: it is one of l2, cosine, innerProduct`;
  }
  if (values.get('length') !== String(vectorLength)) return 'it has another length than the column';
  const more = options.find(({ name }) => name !== 'metric' && name !== 'length');
  return more && `an index of vectors has no option \`${more.name}\``;
}

function isRecursive(type: AlgebraicType, typespace: Typespace): boolean {
  const open = new Set<number>();
  const done = new Set<number>();
  const visit = (part: AlgebraicType): boolean => {
    switch (part.kind) {
      case 'array':
        return visit(part.element);
      case 'product':
        return part.elements.some((element) => visit(element.type));
      case 'sum':
        return part.variants.some((variant) => visit(variant.type));
      case 'ref': {
        if (open.has(part.ref)) return true;
        if (done.has(part.ref)) return false;
        open.add(part.ref);
        const target = typespace.types[part.ref];
        const found = target !== undefined && visit(target);
        open.delete(part.ref);
        done.add(part.ref);
        return found;
      }
      default:
        return false;
    }
  };
  return visit(type);
}
