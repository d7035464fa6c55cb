import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import type { ModuleFunction } from '../../service/functions.ts';
import { useLoad } from '../../service/load.ts';
import { readSourceFunctions } from '../../service/source.ts';
import { typeName } from '../../service/types.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { Link, pageAddress, useParam } from '../../shell/router.tsx';
import { useOpenSource } from '../../shell/source-dialog.tsx';
import { CallForm } from './call-form.tsx';
import styles from './functions.module.css';
import { HandlerForm } from './handler-form.tsx';
import { RecentCalls } from './recent-calls.tsx';

type TabId = 'call' | 'calls';

/** One function: what it is for, a form to call it, and who called it. */
export function FunctionView({ of }: { readonly of: ModuleFunction }) {
  const [tab, setTab] = useParam('tab', 'call');
  const chosen: TabId = tab === 'calls' ? 'calls' : 'call';
  return (
    <article aria-label={of.name}>
      <header className={styles.head}>
        <div className={styles.title}>
          <h2>{of.name}</h2>
          <Badge>{of.kind}</Badge>
          {isPrivate(of) && <Badge kind="warn">private</Badge>}
          <OpenSource name={of.name} />
        </div>
        <p className={styles.signature}>{signatureOf(of)}</p>
        {of.about !== '' && <p className={styles.about}>{of.about}</p>}
      </header>
      <Tabs
        label="Views of this function"
        tabs={[
          { id: 'call', label: of.kind === 'view' ? 'Rows' : 'Call' },
          { id: 'calls', label: 'Recent calls' },
        ]}
        chosen={chosen}
        onChoose={setTab}
      />
      {chosen === 'calls' ? <RecentCalls name={of.name} /> : <Calling of={of} />}
    </article>
  );
}

function Calling({ of }: { readonly of: ModuleFunction }) {
  const { database } = useDatabase();
  switch (of.kind) {
    case 'handler':
      return of.routes.map((route) => (
        <HandlerForm key={`${route.method} ${route.path}`} route={route} />
      ));
    case 'view':
      return (
        <p className={styles.remark}>
          A view is read like a table:{' '}
          <Link to={pageAddress(database, 'data', { table: of.name })}>open its rows</Link>.
        </p>
      );
    case 'lifecycle':
      return (
        <p className={styles.remark}>
          The service runs it by itself, and nobody can call it
          {of.callers.includes(':') && `: it${of.callers.slice(of.callers.indexOf(':') + 1)}`}.
        </p>
      );
    default:
      return <CallForm of={of} />;
  }
}

function isPrivate({ callers }: ModuleFunction): boolean {
  return callers.startsWith('the owner');
}

function signatureOf({ kind, name, parameters, returns, routes }: ModuleFunction): string {
  if (kind === 'handler') return routes.map(({ method, path }) => `${method} ${path}`).join(', ');
  const list = parameters.map((each) => `${each.name}: ${typeName(each.type)}`).join(', ');
  return `${name}(${list})${returns === null ? '' : `: ${typeName(returns)}`}`;
}

/** Opens the place where the author wrote it, for those who may see the source. */
function OpenSource({ name }: { readonly name: string }) {
  const { database } = useDatabase();
  const open = useOpenSource();
  const key = open === undefined ? null : `source ${database}`;
  const known = useLoad(key, (signal) => readSourceFunctions(database, signal));
  const found = known.value?.find((each) => each.name === name);
  if (open === undefined || found === undefined) return null;
  return (
    <Button
      kind="plain"
      size="small"
      onClick={() => open(`${found.file}:${found.first}`)}
    >{`${found.file}:${found.first}`}</Button>
  );
}
