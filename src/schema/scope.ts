import { limits } from '../limits.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import { canonicalTypespace } from './canonical-types.ts';
import { type NamingPolicy, namingPolicyOf } from './case-conversion.ts';
import { Namespace, type Problems } from './problems.ts';
import type { RawExplicitName, RawModule } from './raw-module.ts';
import { TypeRules } from './type-rules.ts';

/** State shared by the checks of one module, or of one submodule. */
export interface Scope {
  readonly raw: RawModule;
  readonly problems: Problems;
  readonly policy: NamingPolicy;
  /** Field and variant names are canonical. */
  readonly typespace: Typespace;
  readonly types: TypeRules;
  /** Tables, indexes, constraints, sequences, schedules and views share one set of names. */
  readonly entities: Namespace;
  readonly explicitNames: Readonly<Record<RawExplicitName['kind'], ReadonlyMap<string, string>>>;
}

export function openScope(raw: RawModule, problems: Problems): Scope {
  const policy = namingPolicyOf(raw.caseConversion);
  const typespace = canonicalTypespace(raw.typespace, policy);
  const definitions = new Set(raw.types.map((type) => type.ref));
  return {
    raw,
    problems,
    policy,
    typespace,
    types: new TypeRules(typespace, definitions, problems),
    entities: new Namespace(problems, sharedNameText),
    explicitNames: {
      table: explicitNamesOf(raw, 'table'),
      function: explicitNamesOf(raw, 'function'),
      index: explicitNamesOf(raw, 'index'),
    },
  };
}

export function canonicalTableName(scope: Scope, sourceName: string): string {
  return scope.explicitNames.table.get(sourceName) ?? scope.policy.plain(sourceName);
}

/** The canonical name of a reducer, procedure, view or HTTP handler. */
export function canonicalFunctionName(scope: Scope, sourceName: string): string {
  return scope.explicitNames.function.get(sourceName) ?? scope.policy.plain(sourceName);
}

/** Follows refs; a ref that leads nowhere is returned unchanged, and reported by `TypeRules`. */
export function followRefs(type: AlgebraicType, typespace: Typespace): AlgebraicType {
  let current = type;
  for (let steps = 0; current.kind === 'ref' && steps <= typespace.types.length; steps += 1) {
    current = typespace.types[current.ref] ?? type;
  }
  return current;
}

/** If a source name has several entries, the last one counts. */
function explicitNamesOf(raw: RawModule, kind: RawExplicitName['kind']): Map<string, string> {
  const entries = raw.explicitNames.filter((entry) => entry.kind === kind);
  return new Map(entries.map((entry) => [entry.sourceName, entry.canonicalName]));
}

/** Texts of problems that views and tables share. */
export function sharedNameText(name: string): string {
  return `name \`${name}\` is used for multiple entities`;
}

export function reservedNameText(name: string): string {
  return `Table name is reserved for system use: ${name}`;
}

/** `owner` names a table or a view. */
export function columnCountText(owner: string, count: number): string {
  return `${owner} has ${count} columns, more than ${limits.columnCountMax}`;
}
