import { Icon } from '../parts/icon.tsx';
import mark from '../parts/mark.svg';
import { useDatabase, useService } from './database-context.tsx';
import styles from './frame.module.css';
import type { PageEntry } from './page-entry.ts';
import { Link, pageAddress } from './router.tsx';

interface NavigationProps {
  readonly pages: readonly PageEntry[];
  readonly current: PageEntry | undefined;
  readonly database: string | null;
}

/** The pages of the host, and below them those of the database in view. */
export function Navigation({ pages, current, database }: NavigationProps) {
  const info = useService();
  return (
    <>
      <Link className={styles.brand} to={pageAddress(null, '')}>
        <img src={mark} alt="" />
        reducerdb
      </Link>
      <nav className={styles.nav} aria-label="Pages">
        {groupsOf(pages.filter(({ scope }) => scope === 'host')).map(([group, entries]) => (
          <section key={group} className={styles.group}>
            <h2>{group}</h2>
            {entries.map((page) => (
              <Item key={page.id} page={page} current={current} database={null} whyNot={false} />
            ))}
          </section>
        ))}
        {database !== null && <OfDatabase pages={pages} current={current} database={database} />}
      </nav>
      {info !== null && (
        <footer className={styles.foot}>
          <span>reducerdb {info.version}</span>
        </footer>
      )}
    </>
  );
}

function OfDatabase({ pages, current, database }: NavigationProps & { readonly database: string }) {
  const { whyNot } = useDatabase();
  const groups = groupsOf(pages.filter(({ scope }) => scope === 'database'));
  return groups.map(([group, entries]) => (
    <section key={group} className={styles.group}>
      <h2>{group}</h2>
      {entries.map((page) => (
        <Item
          key={page.id}
          page={page}
          current={current}
          database={database}
          whyNot={page.right !== undefined && whyNot(page.right)}
        />
      ))}
    </section>
  ));
}

interface ItemProps {
  readonly page: PageEntry;
  readonly current: PageEntry | undefined;
  readonly database: string | null;
  readonly whyNot: string | false;
}

/** What one may not do is there all the same, and says why it is off. */
function Item({ page, current, database, whyNot }: ItemProps) {
  return (
    <Link
      className={styles.item}
      to={pageAddress(database, page.path)}
      aria-current={page.id === current?.id ? 'page' : undefined}
      title={whyNot === false ? undefined : whyNot}
    >
      <Icon name={page.icon} />
      {page.title}
      {whyNot !== false && (
        <span className={styles.lock}>
          <Icon name="lock" size={13} />
          <span className="visually-hidden">{whyNot}</span>
        </span>
      )}
    </Link>
  );
}

function groupsOf(pages: readonly PageEntry[]): (readonly [string, readonly PageEntry[]])[] {
  const groups = [...new Set(pages.map(({ group }) => group))];
  return groups.map((group) => [group, pages.filter((page) => page.group === group)]);
}
