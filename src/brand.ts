declare const brand: unique symbol;

/** A `Base` that only its minting function can produce, so that two kinds of number never mix. */
export type Brand<Base, Name extends string> = Base & { readonly [brand]: Name };
