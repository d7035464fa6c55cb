import { createContext, type ReactNode, useContext, useMemo } from 'react';
import { type Loaded, useLoad } from '../service/load.ts';
import { type Rights, readRights } from '../service/rights.ts';
import { type DatabaseSchema, readSchema } from '../service/schema.ts';
import type { ServiceInfo } from '../service/service-info.ts';
import { session } from '../service/session-token.ts';
import { useStore } from '../service/store.ts';

/** The database of the page in view: what it has, and what the caller may do there. */
export interface DatabaseContext {
  readonly database: string;
  readonly schema: Loaded<DatabaseSchema>;
  readonly rights: Loaded<Rights>;
  /** Why the caller may not do this; `false` if they may, or if it is not known. */
  readonly whyNot: (right: string) => string | false;
}

const Context = createContext<DatabaseContext | null>(null);
const ServiceContext = createContext<ServiceInfo | null>(null);
/** A publish can change the schema at any time. */
const schemaMillis = 15_000;

export function DatabaseProvider(props: { readonly database: string; children: ReactNode }) {
  const { database, children } = props;
  const who = useStore(session);
  const key = `${database}\n${who.kind === 'token' ? who.token : ''}`;
  const schema = useLoad(key, (signal) => readSchema(database, signal), {
    everyMillis: schemaMillis,
  });
  const rights = useLoad(key, (signal) => readRights(database, signal));
  const value = useMemo((): DatabaseContext => {
    return { database, schema, rights, whyNot: (right) => reasonOf(rights.value, right) };
  }, [database, schema, rights]);
  return <Context value={value}>{children}</Context>;
}

function reasonOf(rights: Rights | undefined, right: string): string | false {
  if (rights === undefined) return false;
  const { may, needs, role, isLimited } = rights;
  if (may[right] !== false) return false;
  if (isLimited) return 'This limited token does not allow it.';
  const needed = needs[right] ?? 'another role';
  return `Needs the role ${needed}; you are ${role === 'stranger' ? 'a stranger here' : role}.`;
}

export function useDatabase(): DatabaseContext {
  const value = useContext(Context);
  if (value === null) throw new Error('this page is not of a database');
  return value;
}

export function ServiceProvider(props: { readonly info: ServiceInfo | null; children: ReactNode }) {
  return <ServiceContext value={props.info}>{props.children}</ServiceContext>;
}

/** What the service is and can do; `null` while it is not known. */
export function useService(): ServiceInfo | null {
  return useContext(ServiceContext);
}
