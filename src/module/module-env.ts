import type { EnvTexts } from '../schema/env-values.ts';

/**
 * The configuration of a database as the program in one realm may read it. The realm of an actor
 * never has the texts of secrets; those of lanes do.
 */
export interface ModuleEnv extends EnvTexts {
  /** Another number whenever something else differs. */
  readonly version: number;
  /** Secrets that are set and cannot be decrypted. */
  readonly unreadable: readonly string[];
}

export const emptyEnv: ModuleEnv = { version: 0, values: {}, secrets: [], unreadable: [] };

/** What may be given to an actor: everything but the texts of secrets. */
export function withoutSecrets({ values, ...env }: ModuleEnv): ModuleEnv {
  const plain = Object.entries(values).filter(([name]) => !env.secrets.includes(name));
  return { ...env, values: Object.fromEntries(plain) };
}
