"""The part of JSON Schema 2020-12 that contracts use."""

import json
import os
import re

TYPES = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: is_number(value) and value == int(value),
    "number": lambda value: is_number(value),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
FORMATS = {"date-time": r"\d{4}-\d\d-\d\d[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]\d\d:?\d\d)"}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def same(one, other):
    return isinstance(one, bool) == isinstance(other, bool) and one == other


class Schemas:
    """The schema files of a contract's folder."""

    def __init__(self, folder):
        self.folder, self.files = folder, {}

    def file(self, path):
        if path not in self.files:
            with open(os.path.join(self.folder, path), encoding="utf-8") as file:
                self.files[path] = json.load(file)
        return self.files[path]

    def fits(self, path, value):
        return self.holds(self.file(path), value, path)

    def follow(self, ref, path):
        file, _, pointer = ref.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        schema = self.file(path)
        for step in pointer.split("/")[1:]:
            schema = schema[step.replace("~1", "/").replace("~0", "~")]
        return schema, path

    def holds(self, schema, value, path):
        """Whether a value fits a schema of the file at `path`."""
        if isinstance(schema, bool):
            return schema
        within = lambda one, of=value: self.holds(one, of, path)
        for keyword, rule in schema.items():
            if keyword == "$ref":
                to, file = self.follow(rule, path)
                good = self.holds(to, value, file)
            elif keyword == "type":
                good = any(TYPES[one](value) for one in ([rule] if isinstance(rule, str) else rule))
            elif keyword == "const":
                good = same(rule, value)
            elif keyword == "enum":
                good = any(same(one, value) for one in rule)
            elif keyword == "allOf":
                good = all(within(one) for one in rule)
            elif keyword == "anyOf":
                good = any(within(one) for one in rule)
            elif keyword == "oneOf":
                good = sum(within(one) for one in rule) == 1
            elif keyword == "not":
                good = not within(rule)
            elif keyword == "if":
                good = within(schema.get("then" if within(rule) else "else", True))
            elif isinstance(value, str):
                good = text(keyword, rule, value)
            elif is_number(value):
                good = number(keyword, rule, value)
            elif isinstance(value, list):
                good = self.array(keyword, rule, value, path)
            elif isinstance(value, dict):
                good = self.object(keyword, rule, value, schema, path)
            else:
                good = True
            if not good:
                return False
        return True

    def array(self, keyword, rule, value, path):
        if keyword == "items":
            return all(self.holds(rule, one, path) for one in value)
        if keyword == "contains":
            return any(self.holds(rule, one, path) for one in value)
        if keyword == "uniqueItems":
            return not rule or not any(same(one, other) for at, one in enumerate(value) for other in value[:at])
        return {"minItems": len(value) >= rule, "maxItems": len(value) <= rule}.get(keyword, True) if is_number(rule) else True

    def object(self, keyword, rule, value, schema, path):
        if keyword == "properties":
            return all(self.holds(one, value[key], path) for key, one in rule.items() if key in value)
        if keyword == "required":
            return all(key in value for key in rule)
        if keyword == "additionalProperties":
            return all(self.holds(rule, one, path) for key, one in value.items() if key not in schema.get("properties", {}))
        if keyword == "propertyNames":
            return all(self.holds(rule, key, path) for key in value)
        if keyword == "dependentRequired":
            return all(one in value for key, needed in rule.items() if key in value for one in needed)
        return {"minProperties": len(value) >= rule, "maxProperties": len(value) <= rule}.get(keyword, True) if is_number(rule) else True


def text(keyword, rule, value):
    if keyword == "pattern":
        # `$` of JavaScript is the end alone, that of Python also the line break before it.
        return re.search(re.sub(r"\$$", r"\\Z", rule), value) is not None
    if keyword == "format":
        return rule not in FORMATS or re.fullmatch(FORMATS[rule], value) is not None
    return {"minLength": len(value) >= rule, "maxLength": len(value) <= rule}.get(keyword, True) if is_number(rule) else True


def number(keyword, rule, value):
    if not is_number(rule):
        return True
    return {
        "minimum": value >= rule,
        "maximum": value <= rule,
        "exclusiveMinimum": value > rule,
        "exclusiveMaximum": value < rule,
        "multipleOf": keyword != "multipleOf" or value % rule == 0,
    }.get(keyword, True)
