import { refusal } from '../../database/outcome.ts';
import type { EnvDefinition } from '../../schema/definition.ts';
import { envFault } from '../../schema/env-faults.ts';
import type { EnvRow } from '../registry/env-row.ts';
import type { GivenEnv } from '../registry/env-store.ts';
import type { RequestedEnv } from './publish-request.ts';

/**
 * The values that come with a program, each with its kind. Throws `Refusal` `env.missing` or
 * `env.invalid` if the program cannot run with them and with what is set already.
 */
export function givenEnv(
  declared: readonly EnvDefinition[],
  requested: readonly RequestedEnv[],
  before: readonly EnvRow[],
): readonly GivenEnv[] {
  const given = requested.map(({ name, text, isSecret }): GivenEnv => {
    const known = declared.find((one) => one.name === name)?.isSecret ?? wasSecret(before, name);
    return { name, text, isSecret: isSecret ?? known };
  });
  const values = new Map<string, { readonly isSecret: boolean; readonly text: string }>();
  for (const { name, value } of before) {
    const text = 'plain' in value ? value.plain : '';
    values.set(name, { isSecret: 'sealed' in value, text });
  }
  for (const one of given) values.set(one.name, one);
  const plain = [...values].filter(([, { isSecret }]) => !isSecret);
  const fault = envFault(declared, {
    values: Object.fromEntries(plain.map(([name, { text }]) => [name, text])),
    secrets: [...values].flatMap(([name, { isSecret }]) => (isSecret ? [name] : [])),
  });
  if (fault === undefined) return given;
  throw refusal(fault.kind === 'missing' ? 'env.missing' : 'env.invalid', fault.message);
}

function wasSecret(before: readonly EnvRow[], name: string): boolean {
  return before.some((row) => row.name === name && 'sealed' in row.value);
}
