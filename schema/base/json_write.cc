#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "schema/base/json.h"
#include "schema/base/utf8.h"

namespace ebla {

struct JsonWriter::Impl {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};
};

JsonWriter::JsonWriter() : impl_(std::make_unique<Impl>()) {}
JsonWriter::~JsonWriter() = default;

JsonWriter& JsonWriter::begin_object() {
  impl_->writer.StartObject();
  return *this;
}
JsonWriter& JsonWriter::end_object() {
  impl_->writer.EndObject();
  return *this;
}
JsonWriter& JsonWriter::begin_array() {
  impl_->writer.StartArray();
  return *this;
}
JsonWriter& JsonWriter::end_array() {
  impl_->writer.EndArray();
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  return string(name);  // RapidJSON writes a key as it writes a string
}

JsonWriter& JsonWriter::string(std::string_view text) {
  if (utf8::is_valid(text)) {
    impl_->writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  } else {
    const std::string valid = utf8::to_valid(text);
    impl_->writer.String(valid.data(), static_cast<rapidjson::SizeType>(valid.size()));
  }
  return *this;
}

JsonWriter& JsonWriter::number(int64_t value) {
  impl_->writer.Int64(value);
  return *this;
}
JsonWriter& JsonWriter::number(uint64_t value) {
  impl_->writer.Uint64(value);
  return *this;
}
JsonWriter& JsonWriter::number(double value) {
  // JSON has no NaN and no infinity.
  if (!impl_->writer.Double(value)) impl_->writer.Null();
  return *this;
}
JsonWriter& JsonWriter::boolean(bool value) {
  impl_->writer.Bool(value);
  return *this;
}
JsonWriter& JsonWriter::null() {
  impl_->writer.Null();
  return *this;
}
JsonWriter& JsonWriter::raw(std::string_view json) {
  impl_->writer.RawValue(json.data(), json.size(), rapidjson::kObjectType);
  return *this;
}

std::string JsonWriter::take() {
  std::string out(impl_->buffer.GetString(), impl_->buffer.GetSize());
  impl_->buffer.Clear();
  impl_->writer.Reset(impl_->buffer);
  return out;
}

}  // namespace ebla
