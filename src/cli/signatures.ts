import type { ModuleDefinition, ProcedureDefinition } from '../schema/definition.ts';
import { wholeTypeWords } from '../schema/type-words.ts';
import { type JsonValue, member, parseJson } from '../values/json.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import { typeFromJson } from '../values/type-codec.ts';
import { resolveType } from '../values/typespace.ts';
import { type Api, databasePath } from './api.ts';
import { elementsOf } from './json-parts.ts';

/** What a caller needs to know about a reducer or a procedure. */
export interface FunctionSignature {
  readonly kind: 'reducer' | 'procedure';
  readonly name: string;
  readonly params: readonly SignatureParam[];
  readonly typespace: Typespace;
}

interface SignatureParam {
  readonly name: string;
  readonly type: AlgebraicType;
  /** Set by `withDefaults`. */
  readonly hasDefault?: boolean;
}

/**
 * The reducers of a database that clients can call, then its procedures, from its schema: those of
 * submodules, too, if `name` looks like one of them. Only the newer form of schemas has these.
 */
export async function readSignatures(
  api: Api,
  database: string,
  name: string,
): Promise<FunctionSignature[]> {
  if (name.includes('.')) {
    const text = await api.text('GET', newerSchema(database));
    const { reducers, procedures, typespace } = await flatDefinitionOf(text);
    const signatureOf = (
      kind: FunctionSignature['kind'],
      { name, params }: Pick<ProcedureDefinition, 'name' | 'params'>,
    ): FunctionSignature => ({
      kind,
      name,
      typespace,
      params: params.elements.map(({ name, type }, at) => ({ name: name ?? `arg${at}`, type })),
    });
    const callable = reducers.filter(({ lifecycle }) => lifecycle === undefined);
    return [
      ...callable.map((reducer) => signatureOf('reducer', reducer)),
      ...procedures.map((procedure) => signatureOf('procedure', procedure)),
    ];
  }
  const schema = parseJson(await api.text('GET', databasePath(database, '/schema?version=9')));
  const types = elementsOf(member(member(schema, 'typespace'), 'types')).map(typeFromJson);
  const signatureOf = (kind: FunctionSignature['kind'], json: JsonValue): FunctionSignature => ({
    kind,
    name: String(member(json, 'name')),
    typespace: { types },
    params: elementsOf(member(member(json, 'params'), 'elements')).map((element, at) => ({
      name: parameterName(element, at),
      type: typeFromJson(member(element, 'algebraic_type') ?? null),
    })),
  });
  const callable = elementsOf(member(schema, 'reducers')).filter(
    (reducer) => member(member(reducer, 'lifecycle'), 'none') !== undefined,
  );
  const procedures = elementsOf(member(schema, 'misc_exports')).flatMap((exported) => {
    const procedure = member(exported, 'Procedure');
    return procedure === undefined ? [] : [procedure];
  });
  return [
    ...callable.map((reducer) => signatureOf('reducer', reducer)),
    ...procedures.map((procedure) => signatureOf('procedure', procedure)),
  ];
}

/**
 * The signature with what calls can leave out, which only the newer form of schemas says. It is
 * read for texts about a call that failed: a call itself needs no more than the types.
 */
export async function withDefaults(
  api: Api,
  database: string,
  signature: FunctionSignature,
): Promise<FunctionSignature> {
  const definition = await flatDefinitionOf(await api.text('GET', newerSchema(database)));
  const functions = signature.kind === 'reducer' ? definition.reducers : definition.procedures;
  const declared = functions.find(({ name }) => name === signature.name);
  const params = signature.params.map((param, at) => {
    return { ...param, hasDefault: declared?.paramDefaults?.[at] !== undefined };
  });
  return { ...signature, params };
}

const newerSchema = (database: string) => databasePath(database, '/schema?version=10');

/** The rules of definitions are loaded on demand: most calls do without. */
async function flatDefinitionOf(text: string): Promise<ModuleDefinition> {
  const [{ definitionFromSchema }, { flatDefinition }] = await Promise.all([
    import('../codegen/schema-document.ts'),
    import('../schema/flat-definition.ts'),
  ]);
  return flatDefinition(definitionFromSchema(text));
}

export function signatureText(signature: FunctionSignature): string {
  return `${signature.name}(${parameterTexts(signature).join(', ')})`;
}

/** The command that calls a function: its arguments stand by themselves. */
export function usageText(signature: FunctionSignature, database: string): string {
  const { name, params, typespace } = signature;
  const isNeeded = ({ type, hasDefault }: SignatureParam) =>
    hasDefault !== true && specialKindOf(resolveType(type, typespace)) !== 'option';
  const neededCount = params.findLastIndex(isNeeded) + 1;
  const words = parameterTexts(signature).map((text, at) =>
    at < neededCount ? `<${text}>` : `[${text}]`,
  );
  return ['reducerdb call', database, name, ...words].join(' ');
}

function parameterTexts({ params, typespace }: FunctionSignature): string[] {
  return params.map(({ name, type, hasDefault }) => {
    return `${name}${hasDefault === true ? '?' : ''}: ${wholeTypeWords(type, typespace)}`;
  });
}

function parameterName(element: JsonValue, at: number): string {
  const name = member(member(element, 'name'), 'some');
  return typeof name === 'string' ? name : `arg${at}`;
}
