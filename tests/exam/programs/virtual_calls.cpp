// Calls virtual functions of objects in random order, all of them in the caches.
#include "exam.h"
#include <memory>
#include <vector>

struct Shape {
    double size;
    explicit Shape(double s) : size(s) {}
    virtual ~Shape() = default;
    virtual double area() const = 0;
};
struct Square : Shape { using Shape::Shape; double area() const override { return size * size; } };
struct Circle : Shape { using Shape::Shape; double area() const override { return size * size * 3.14159; } };
struct Triangle : Shape { using Shape::Shape; double area() const override { return size * size * 0.433; } };

int main(int argc, char **argv) {
    size_t n = arguments(argc, argv, 256ul << 10, 1) / 64;
    std::vector<std::unique_ptr<Shape>> shapes;
    uint64_t state = 88172645463325252ull, operations = 0;
    for (size_t i = 0; i < n; i++) {
        // EXAM_SORTED: one kind after the other, which is easy to predict.
        uint64_t kind = getenv("EXAM_SORTED") ? i * 3 / n : next_random(&state) % 3;
        if (kind == 0) shapes.emplace_back(new Square(i));
        else if (kind == 1) shapes.emplace_back(new Circle(i));
        else shapes.emplace_back(new Triangle(i));
    }
    double sum = 0;
    ready();
    for (; running(); operations += n)
        for (auto &shape : shapes) sum += shape->area();
    sink = sum;
    return done(operations);
}
