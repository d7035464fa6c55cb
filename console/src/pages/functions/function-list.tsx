import { classes } from '../../parts/classes.ts';
import { SearchField } from '../../parts/field.tsx';
import type { FunctionKind, ModuleFunction } from '../../service/functions.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { Link, pageAddress, useParam } from '../../shell/router.tsx';
import styles from './functions.module.css';

const groups: readonly (readonly [FunctionKind, string])[] = [
  ['reducer', 'Reducers'],
  ['procedure', 'Procedures'],
  ['view', 'Views'],
  ['handler', 'HTTP handlers'],
  ['lifecycle', 'Run by themselves'],
];

interface FunctionListProps {
  readonly all: readonly ModuleFunction[];
  readonly chosen: string;
}

/** The functions of the module by their kind, narrowed by a few letters. */
export function FunctionList({ all, chosen }: FunctionListProps) {
  const { database } = useDatabase();
  const [search, setSearch] = useParam('find');
  const found = all.filter(({ name }) => name.toLowerCase().includes(search.trim().toLowerCase()));
  const kept: Readonly<Record<string, string>> = search === '' ? {} : { find: search };
  return (
    <nav className={styles.list} aria-label="Functions">
      <div className={styles.search}>
        <SearchField label="Find a function" value={search} onChange={setSearch} />
      </div>
      {found.length === 0 && <p className={styles.nothing}>No function has such a name.</p>}
      {groups.map(([kind, title]) => {
        const those = found.filter((each) => each.kind === kind);
        if (those.length === 0) return null;
        return (
          <section key={kind}>
            <h2 className={styles.group}>{title}</h2>
            <ul>
              {those.map(({ name }) => (
                <li key={name}>
                  <Link
                    to={pageAddress(database, 'functions', { f: name, ...kept })}
                    className={classes(styles.entry, name === chosen && styles.chosen)}
                    aria-current={name === chosen ? 'page' : undefined}
                  >
                    {name}
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        );
      })}
    </nav>
  );
}
