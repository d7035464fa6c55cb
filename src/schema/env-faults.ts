import type { EnvDefinition } from './definition.ts';
import { convertEnv, type EnvTexts, envTypeText } from './env-values.ts';

/** Why a program cannot run with the configuration of its database; a whole sentence. */
export type EnvFault =
  | { readonly kind: 'missing'; readonly message: string }
  | { readonly kind: 'wrong'; readonly message: string };

/**
 * Compares what a program declares with what is set. `undefined`: it can run. No text quotes a
 * value.
 */
export function envFault(
  declared: readonly EnvDefinition[],
  { values, secrets }: EnvTexts,
): EnvFault | undefined {
  const isSet = (name: string) => Object.hasOwn(values, name) || secrets.includes(name);
  const missing = declared.filter(({ name, isOptional }) => !isOptional && !isSet(name));
  if (missing.length > 0) return { kind: 'missing', message: missingText(missing) };
  const wrong = declared.flatMap((definition) => {
    const { name } = definition;
    if (!isSet(name)) return [];
    const fault = valueFault(definition, secrets.includes(name), values[name]);
    return fault === undefined ? [] : [fault];
  });
  return wrong.length === 0 ? undefined : { kind: 'wrong', message: wrong.join('\n') };
}

/** What is wrong with one value for a program; `text`: absent where nobody can read it here. */
export function valueFault(
  definition: EnvDefinition,
  isSecret: boolean,
  text: string | undefined,
): string | undefined {
  const { name, kind } = definition;
  if (isSecret !== definition.isSecret) {
    const [is, declared] = isSecret ? ['secret', 'plain value'] : ['plain value', 'secret'];
    const text = `\`${name}\` is set as a ${is}, and the program declares it as a ${declared}`;
    return `${text}. Set it as you publish: reducerdb publish … ${flagOf(definition)}`;
  }
  const fault = text === undefined ? undefined : convertEnv(kind, text).fault;
  if (fault === undefined) return undefined;
  return `\`${name}\` is declared as ${envTypeText(definition)}: its value must be ${fault}`;
}

/** All of them, with the flags that set them. */
function missingText(missing: readonly EnvDefinition[]): string {
  const names = missing.map((one) => `\`${one.name}\` (${envTypeText(one)})`).join(', ');
  const flags = missing.map(flagOf);
  return (
    `The program declares values that are not set for its database: ${names}. ` +
    `Set them as you publish: reducerdb publish … ${flags.join(' ')}`
  );
}

function flagOf({ name, isSecret }: EnvDefinition): string {
  return isSecret ? `--set-secret ${name}` : `--set-env ${name}=VALUE`;
}
