/** An issuer at which people can log in to the console. */
export interface LoginIssuer {
  readonly issuer: string;
  /** What people know it by: its host. */
  readonly name: string;
}

/** A setting of the service as it is in force. */
export interface SettingInForce {
  /** Its key in `config.toml`. */
  readonly name: string;
  /** As it was given; `null`: it was not, and the default holds. */
  readonly value: unknown;
  readonly source: 'default' | 'file' | 'environment' | 'flag';
  /** The default, in words. */
  readonly default: string;
}

/** Facts of a service that do not change while it runs. */
export interface ServiceFacts {
  readonly startedAt: string;
  readonly issuers: readonly LoginIssuer[];
  readonly appsDomain: string | undefined;
  readonly settings: readonly SettingInForce[];
}
