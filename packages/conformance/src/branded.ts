/** Makes an error of another copy of this package, such as its CommonJS build, an instance too; a class that extends it has its own. */
export function branded(kind: abstract new (...args: never[]) => Error, name: string): void {
  const brand = Symbol.for(`@parlance/${name}`);
  Object.assign(kind.prototype, { [brand]: true });
  Object.defineProperty(kind, Symbol.hasInstance, {
    value(this: typeof kind, error: unknown) {
      return this === kind ? !!Object(error)[brand] : Function.prototype[Symbol.hasInstance].call(this, error);
    },
  });
}
