import { convertEnv, type EnvValue } from '../schema/env-values.ts';
import type { RawEnvName } from '../schema/raw-module.ts';
import type { ScalarKind } from '../values/type.ts';
import type { Sys } from './sys.ts';

/** The configuration as one call sees it: it does not change while the call runs. */
export interface EnvSnapshot {
  /** For functions in a transaction: reading a secret throws. */
  readonly plain: object;
  /** For procedures and HTTP handlers. */
  readonly whole: object;
}

/** What the host knows of the configuration in this realm, as its JSON text. */
interface HostEnv {
  readonly values: Readonly<Record<string, string>>;
  /** Secrets that are set and cannot be read. */
  readonly unreadable: readonly string[];
}

const nothing = Object.freeze({});

/** A submodule reads no configuration. */
export const noEnv: EnvSnapshot = Object.freeze({ plain: nothing, whole: nothing });

/** The configuration of a program's database, converted to the declared types once per change. */
export class Environment {
  readonly #sys: Sys;
  readonly #declared: readonly RawEnvName[];
  #version: number | undefined;
  #now = noEnv;

  constructor(sys: Sys, declared: readonly RawEnvName[]) {
    this.#sys = sys;
    this.#declared = declared;
  }

  now(): EnvSnapshot {
    if (this.#declared.length === 0) return noEnv;
    const version = this.#sys.env_version();
    if (version !== this.#version) {
      const host = JSON.parse(this.#sys.env()) as HostEnv;
      const plain = this.#valuesOf(host, false);
      this.#now = Object.freeze({ plain, whole: this.#valuesOf(host, true) });
      this.#version = version;
    }
    return this.#now;
  }

  /**
   * Names that cannot be read throw when they are. Secrets are not enumerable, so that printing or
   * spreading the whole does not show them.
   */
  #valuesOf({ values, unreadable }: HostEnv, hasSecrets: boolean): object {
    const object = {};
    for (const { name, type, isSecret, isOptional } of this.#declared) {
      const define = (property: PropertyDescriptor) =>
        Object.defineProperty(object, name, { enumerable: !isSecret, ...property });
      const refuse = (fault: Error) =>
        define({
          enumerable: false,
          get: () => {
            throw fault;
          },
        });
      const text = values[name];
      if (isSecret && !hasSecrets) refuse(new TypeError(`\`${name}\` ${elsewhereText}`));
      else if (unreadable.includes(name)) refuse(new Error(`the secret \`${name}\` ${lostText}`));
      else if (text !== undefined) {
        const { value, fault } = convertEnv(type.kind as ScalarKind, text);
        if (fault === undefined) define({ value: value as EnvValue });
        else refuse(new Error(`\`${name}\` is not ${fault}: set it again`));
      } else if (isOptional) define({ value: undefined });
      else refuse(new Error(`\`${name}\` is not set: see \`reducerdb env set\``));
    }
    return Object.freeze(object);
  }
}

const elsewhereText = 'is a secret: only procedures and HTTP handlers can read it';
const lostText =
  'cannot be read: the service does not have the key that it was encrypted with. ' +
  'Its operator can put the key back, or it can be set again';
