import type { User } from './database.ts';

/** A name, or what stands for somebody who has not said theirs. */
export function nameOf({ name, identity }: User): string {
  // The first digits of an identity say what kind it is; these tell people apart.
  return name ?? `guest ${identity.toHexString().slice(12, 16)}`;
}

/** The first letter on a colour that a person keeps. */
export function Avatar({ user }: { user: User }) {
  const hue = Number.parseInt(user.identity.toHexString().slice(12, 18), 16) % 360;
  return (
    <span className="avatar" style={{ '--hue': hue } as object} aria-hidden="true">
      {[...nameOf(user)][0]?.toUpperCase()}
    </span>
  );
}
