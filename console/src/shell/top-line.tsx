import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { copyText } from '../parts/copy.tsx';
import { Icon } from '../parts/icon.tsx';
import { shortIdentity } from '../parts/identity.tsx';
import { Menu, type MenuItem } from '../parts/menu.tsx';
import { complain } from '../parts/toast.tsx';
import { identityOfToken } from '../service/identities.ts';
import { reachability } from '../service/reachability.ts';
import type { Rights } from '../service/rights.ts';
import { session, setSession } from '../service/session-token.ts';
import { endSession } from '../service/sessions.ts';
import { Store, useStore } from '../service/store.ts';
import { type Connection, shownConnection } from './connection.ts';
import styles from './frame.module.css';
import type { PageEntry } from './page-entry.ts';
import { Link, pageAddress } from './router.tsx';

interface TopLineProps {
  readonly page: PageEntry | undefined;
  readonly database: string | null;
  readonly rights: Rights | null;
  readonly onMenu: () => void;
  readonly onFind: () => void;
}

/** Where one is, whether the service answers, and who one is. */
export function TopLine({ page, database, rights, onMenu, onFind }: TopLineProps) {
  return (
    <header className={styles.top}>
      <Button
        kind="plain"
        icon="menu"
        aria-label="Open the navigation"
        className={styles.onlyNarrow}
        onClick={onMenu}
      />
      <div className={styles.crumbs}>
        <Link to={pageAddress(null, '')}>{location.host}</Link>
        {database !== null && <Icon name="right" size={12} />}
        {database !== null && <Link to={pageAddress(database, 'data')}>{database}</Link>}
        {page !== undefined && <Icon name="right" size={12} />}
        {page !== undefined && <span>{page.title}</span>}
      </div>
      <ConnectionState />
      <Button
        icon="search"
        className={styles.find}
        title="Find pages, databases, tables and functions"
        aria-keyshortcuts="Control+K Meta+K"
        onClick={onFind}
      >
        <span>Find</span>
        <kbd>{isMac ? '⌘' : 'Ctrl '}K</kbd>
      </Button>
      <Who rights={rights} />
    </header>
  );
}

const isMac = /Mac|iP(hone|ad)/.test(navigator.platform);
const none = new Store<{ readonly kind: 'none' }>({ kind: 'none' });

/** Connected, or not: then it heals by itself. */
function ConnectionState() {
  const { isLost } = useStore(reachability);
  const connection = useStore(shownConnection);
  const { kind } = useStore<{ readonly kind: string }>(connection?.state ?? none);
  const isWaiting = kind === 'waiting' || kind === 'closed';
  return (
    <span role="status">
      {isLost || isWaiting ? (
        <LostBadge connection={connection} kind={kind} />
      ) : (
        <Badge kind={kind === 'connecting' ? 'quiet' : 'good'} hasDot>
          {kind === 'live' ? 'Live' : kind === 'connecting' ? 'Connecting' : 'Connected'}
        </Badge>
      )}
    </span>
  );
}

function LostBadge(props: { readonly connection: Connection | null; readonly kind: string }) {
  if (props.kind === 'closed') {
    return (
      <Badge kind="danger" hasDot title="The service ended this connection; reload to try again.">
        Disconnected
      </Badge>
    );
  }
  return (
    <Badge kind="warn" hasDot title="The console connects again as soon as the service answers.">
      Reconnecting…
    </Badge>
  );
}

/** Who one is and what one may do here; and the way out. */
function Who({ rights }: { readonly rights: Rights | null }) {
  const who = useStore(session);
  const identity = who.kind === 'token' ? (rights?.identity ?? identityOfToken()) : undefined;
  const signOut = async () => {
    if (who.kind === 'token') {
      await endSession().catch((error: unknown) => {
        // A token that was pasted is not a session of the console: it is only forgotten.
        if (!(error instanceof Error && 'status' in error)) complain('Signing out', error);
      });
    }
    setSession({ kind: 'none' });
  };
  const name = identity === undefined ? 'Not signed in' : shortIdentity(identity);
  const role = rights === null ? undefined : roleText(rights);
  const label = `Signed in: ${name}${role === undefined ? '' : `, ${role}`}`;
  const items: MenuItem[] = [
    ...(identity === undefined
      ? []
      : [
          {
            label: 'Copy my identity',
            icon: 'copy' as const,
            note: shortIdentity(identity),
            run: () => void copyText(identity),
          },
        ]),
    {
      label: who.kind === 'token' ? 'Sign out' : 'Sign in',
      icon: who.kind === 'token' ? ('exit' as const) : ('key' as const),
      begins: identity !== undefined,
      run: () => void signOut(),
    },
  ];
  return (
    <Menu kind="plain" icon="user" items={items} title={label}>
      <code className={styles.onlyWide}>{name}</code>
      {role !== undefined && <Badge kind="accent">{role}</Badge>}
    </Menu>
  );
}

function roleText({ role, isLimited }: Rights): string {
  return isLimited ? `${role}, limited` : role;
}
