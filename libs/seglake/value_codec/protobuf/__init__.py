"""Reads Protobuf: schemas compiled by protoc, values parsed by Google's library, as columns."""
