import { Icon } from '../../parts/icon.tsx';
import { FullPage } from '../../parts/page.tsx';
import { Empty, Loading, WhenLoaded } from '../../parts/state.tsx';
import { functionsOf, type ModuleFunction, readFunctionFacts } from '../../service/functions.ts';
import { useLoad } from '../../service/load.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { Link, pageAddress, useParam } from '../../shell/router.tsx';
import { SourceDialog } from '../../shell/source-dialog.tsx';
import { FunctionList } from './function-list.tsx';
import { FunctionView } from './function-view.tsx';
import styles from './functions.module.css';
import { RecentCalls } from './recent-calls.tsx';

/** A publish can change the functions at any time. */
const factsMillis = 15_000;

/** What a module can do: its functions, with forms to call them, and who called them. */
export function Page({ database }: { readonly database: string }) {
  const { schema } = useDatabase();
  const facts = useLoad(database, (signal) => readFunctionFacts(database, signal), {
    everyMillis: factsMillis,
  });
  return (
    <FullPage title="Functions">
      <WhenLoaded of={schema}>
        {(known) => {
          if (facts.value === undefined && facts.error === undefined) return <Loading />;
          return <Functions database={database} all={functionsOf(known, facts.value)} />;
        }}
      </WhenLoaded>
      <SourceDialog />
    </FullPage>
  );
}

interface FunctionsProps {
  readonly database: string;
  readonly all: readonly ModuleFunction[];
}

function Functions({ database, all }: FunctionsProps) {
  const [name] = useParam('f');
  if (all.length === 0) {
    return (
      <Empty icon="function" title="This module has no functions">
        Export a reducer from it, and publish it again.
      </Empty>
    );
  }
  const chosen = all.find((each) => each.name === name);
  return (
    <div className={styles.split} data-chosen={name !== ''}>
      <FunctionList all={all} chosen={name} />
      <div className={styles.detail}>
        {name !== '' && (
          <Link className={styles.back} to={pageAddress(database, 'functions')}>
            <Icon name="left" size={14} /> All functions
          </Link>
        )}
        {chosen !== undefined && <FunctionView key={chosen.name} of={chosen} />}
        {chosen === undefined && name !== '' && (
          <Empty icon="search" title="This function does not exist">
            The module that runs now has no function <code>{name}</code>.
          </Empty>
        )}
        {name === '' && (
          <>
            <header className={styles.head}>
              <h2>Recent calls</h2>
              <p className={styles.quiet}>
                Choose a function to call it, or to see its calls alone.
              </p>
            </header>
            <RecentCalls name={null} />
          </>
        )}
      </div>
    </div>
  );
}
